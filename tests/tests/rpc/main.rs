//! Calls over whole stacks: over faulty networks, with callers that give up and servers that are slow.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod faults;
mod outcomes;
mod service;
