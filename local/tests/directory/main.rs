//! The directory, with clients and under attack.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod attacks;
mod clients;
#[path = "../lines/mod.rs"]
mod lines;
