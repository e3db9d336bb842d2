//! `bertha-socketd`: pairs the two ends of a TCP connection of this machine, so that they share memory.
//!
//! Each end hands its socket over, of which the daemon reads the addresses and the network namespace itself: so nobody can claim a
//! connection that is not his own. It makes the memory, gives it to both, and is out of the path from then on: if it dies, connections
//! stay.
//!
//! A socket that a program hands on while bytes of it lie in a ring, and whose other end does not answer, goes on here, as [`relay`] says.
//! Sockets that a program wants carried by a stack of Bertha are carried here, as [`stack`] says.

#![forbid(unsafe_code)]

mod claims;
mod command;
mod hello;
mod identity;
mod list;
mod message;
mod pairing;
mod relay;
mod server;
mod stack;

use bertha_program::run_async;
use command::Arguments;
use std::process::ExitCode;
use tokio::runtime::Builder;

fn main() -> ExitCode {
    run_async(&mut Builder::new_current_thread(), async |arguments: Arguments, termination| {
        arguments.execute(&termination).await
    })
}
