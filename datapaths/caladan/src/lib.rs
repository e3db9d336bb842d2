//! [Caladan](https://github.com/shenango/caladan), the successor of Shenango, as a Bertha runtime and datapath: green threads for tasks,
//! and its network stack for [UDP](Caladan) and [TCP](Tcp), beside a scheduler that gives cores to programs within microseconds.
//!
//! Caladan's runtime takes the place of tokio's: a program starts it with [`run`], and every future that it
//! awaits has to be Bertha's, or work on any executor. Code that needs tokio's I/O or timers panics or waits
//! forever there, as its documentation says.
//!
//! With the feature `tokio`, there is `Bridged` too, for programs that stay on tokio: Caladan's runtime then
//! runs on threads of its own, and messages go over rings between the two runtimes.
//!
//! # Where Caladan is missing
//!
//! The crate builds everywhere. Where the build found no Caladan, [`run`] fails with
//! [`Unavailable`](bertha_core::ErrorKind::Unavailable), and the error says what to do.

#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod address;
mod base;
#[expect(unsafe_code, reason = "the thin layer above bertha-caladan-sys, each call with its proof")]
mod bindings;
#[cfg(feature = "tokio")]
mod bridge;
mod clock;
mod config;
mod failure;
mod places;
mod run;
mod runtime;
mod task;
mod tcp;
mod udp;
mod usage;

pub use base::CaladanBase;
/// True if the build found a Caladan to link.
pub use bertha_caladan_sys::AVAILABLE;
#[cfg(feature = "tokio")]
pub use bridge::{Bridged, BridgedConnection, BridgedListener};
pub use config::{Config, Priority};
pub use run::run;
pub use runtime::CaladanRuntime;
pub use task::{Task, spawn};
pub use tcp::{Tcp, TcpConnection, TcpListener};
pub use udp::{Caladan, CaladanConnection, CaladanListener};
pub use usage::{Usage, usage};
