//! Datagrams and streams over sockets of the kernel.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests panic to fail, and say what they skip")]

mod ecn;
mod gathered;
mod hostile;
mod own_end;
mod streams;
mod udp;
mod unix;
mod unreachable;
