//! The program as a process.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod encrypted;
mod ending;
