//! The few calls of Linux by which a program of eBPF picks the socket of a datagram: a program is loaded
//! ([`Program`]), looks keys up in a map ([`KeySet`]), and is attached to a group of sockets
//! ([`Program::attach`]).
//!
//! The interface is safe: the kernel verifies each program before it runs, so that a wrong program is an error
//! and no danger. A process needs the capability `CAP_BPF`, or root's rights, unless the system permits
//! programs of any user.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod call;
mod instruction;
mod key_set;
mod program;

pub use instruction::Instruction;
pub use key_set::{KEY, KeySet};
pub use program::Program;
