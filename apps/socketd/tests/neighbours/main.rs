//! Unmodified programs whose connections go through memory.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod carried;
mod command;
mod crowds;
mod datagrams;
mod devices;
mod differential;
mod early;
mod ends;
mod handed;
mod jumps;
mod kills;
mod machine;
mod namespaces;
mod needs;
mod options;
mod programs;
mod reasons;
mod redis;
mod relays;
mod scribbles;
mod stops;
mod strangers;
mod streams;
mod uring;
mod users;
