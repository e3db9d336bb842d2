//! Reliable messages as a whole stack: over links that fail, over links that are slow, and what they cost.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod allocations;
mod backpressure;
mod draining;
mod faults;
mod reference;
mod runtime_end;
mod utilisation;
