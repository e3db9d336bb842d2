//! The program `bertha-bundler`: the two boxes of the crate `bertha-bundle` on Linux (thesis 4.7.6).
//!
//! A message's way: `send/forwarder.rs` reads the packets of the bundle from a TUN device, lets the sendbox choose their
//! order and their times, and writes them back to the device. `receive/observer.rs` sees them behind the path at a packet socket, and
//! sends the receivebox's acknowledgements to the sendbox, whose congestion control then sets the rate.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod command;
mod failure;
mod key;
mod prefix;
mod printer;
mod receive;
mod send;
mod waiting;

pub use command::Arguments;
