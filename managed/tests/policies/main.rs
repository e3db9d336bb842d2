//! Engines in stacks of applications: calls of `Rpc` under the simulator's clock, with the Chunnel at one of the two ends.

#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod allocations;
mod bounds;
mod calls;
mod changes;
mod protobuf;
mod scene;
mod strangers;
mod traces;
