//! Reliable messages as a whole stack: over faulty links, over slow links, and the cost of a message.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod allocations;
mod backpressure;
mod draining;
mod faults;
mod reference;
mod runtime_end;
mod utilisation;
