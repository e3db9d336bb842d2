//! What everything that claims to be a connection or a datapath must pass.
//!
//! The tests of whole stacks are in `tests/`.

// Checks panic to fail, as the tests that call them do.
#![allow(clippy::unwrap_used)]

pub mod conformance;
pub mod fuzz_targets;
mod seeds;
mod services;

pub use seeds::{seeds, with_seeds};
pub use services::{service, skip};
