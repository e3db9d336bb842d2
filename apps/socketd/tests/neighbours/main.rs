//! Unmodified programs whose connections go through memory.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests panic to fail, and say what they skip")]

mod carried;
mod datagrams;
mod devices;
mod differential;
mod early;
mod ends;
mod handed;
mod jumps;
mod machine;
mod programs;
mod reasons;
mod redis;
mod relays;
mod strangers;
mod streams;
mod uring;
mod users;
