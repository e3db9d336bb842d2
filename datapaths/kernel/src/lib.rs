//! Kernel sockets as a Bertha datapath, on tokio: [`Udp`], [`Tcp`], [`Unix`] datagram and [`UnixStream`] sockets, and
//! [`UdpMulticast`] for groups.
//!
//! A connection belongs to the tokio runtime on which it was opened; its futures may run on any runtime.

#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod async_socket;
mod base;
mod datagram;
mod ecn;
mod endpoint;
mod multicast;
mod options;
mod stream;
mod tcp;
mod udp;
mod unix;
mod window;
mod within_tokio;

pub use base::SocketBase;
pub use bertha_runtime::polling::Waiting;
pub use bertha_runtime::tokio::{Credentials, Task, TokioRuntime};
pub use datagram::{DatagramConnection, DatagramListener, DatagramStatistics};
pub use endpoint::Counters;
pub use multicast::{MulticastConnection, UdpMulticast};
pub use stream::{StreamConnection, StreamListener, StreamStatistics};
pub use tcp::{Tcp, TcpConnection, TcpListener};
pub use udp::{Udp, UdpConnection, UdpListener};
pub use unix::{Unix, UnixConnection, UnixListener, UnixStream, UnixStreamConnection, UnixStreamListener};
