//! Caladan's runtime and datapaths, tested beside Caladan's scheduler: `scripts/caladan run`, with a stand-in
//! for the kernel module on hosts that lack the module.
//!
//! Each test starts this program again, in a process of its own beside a scheduler of its own; that process
//! runs another test, which is ignored otherwise.
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
