//! Caladan's runtime and datapaths, beside its scheduler: `scripts/caladan run`, with a stand-in for its kernel module where there is none.
//!
//! Each test runs another one of this program, which is ignored otherwise, in a process of its own beside a scheduler of its own.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests panic to fail, and show what they have seen"
)]

mod assume_send;
mod beside;
mod bridged;
mod conformance;
mod neighbours;
mod preemption;
mod running;
mod runtime;
mod soak;
mod stacks;
mod strangers;
