//! Kernel sockets as a Bertha datapath, on tokio: [`Udp`].
//!
//! A connection belongs to the tokio runtime on which it was opened; its futures may run on any.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod base;
mod demux;
mod endpoint;
mod runtime;
mod udp;
mod waiting;
mod window;

pub use base::SocketBase;
pub use demux::Counters;
pub use runtime::{Task, TokioRuntime};
pub use udp::{Udp, UdpConnection, UdpListener};
pub use waiting::Waiting;
