//! Bertha for C: `libbertha`, whose header is `include/bertha.h`.
//!
//! The functions of C are in `boundary`, which alone has `unsafe`, but for a call in `forks.rs`: it checks what comes from C and calls the rest of this crate,
//! which is safe code. A handle is a number in a table (`table.rs`), so a handle that is closed, null or of another kind is an error.
//!
//! A wait is a future, which the calling thread runs itself (`wait.rs`). Calls that never wait poll it once: what goes on
//! then, such as a message of which a part is sent, goes on in a task of the runtime of the process (`runtime.rs`).

#![deny(unsafe_code)]

mod arrived;
mod asked;
mod boundary;
mod code;
mod connecting;
mod connection;
mod failure;
mod figures;
mod forks;
mod listener;
mod object;
mod outlet;
mod queue;
mod readiness;
mod receiving;
mod runtime;
mod sending;
mod service;
mod source;
mod table;
mod task;
mod wait;

pub use boundary::*;
pub use code::bertha_code;
pub use figures::Figures;
