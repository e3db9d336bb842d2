//! The protocol of rendezvous under a model checker: the state machine of production, over a store without a
//! clock whose entries may expire at any moment.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod checks;
mod circles;
mod participants;
mod state;
mod store;
