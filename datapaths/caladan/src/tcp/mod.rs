//! TCP.

mod connection;
mod listener;
mod reader;
mod writer;

use crate::bindings::{TcpQueue, TcpSocket};
use crate::failure::failed;
use crate::{CaladanRuntime, address, places};
use bertha_core::{Addr, Datapath, Error};
pub use connection::TcpConnection;
pub use listener::TcpListener;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::Poll;

/// Number of received bytes of a connection that wait for the application: as many as TCP announces without
/// the option that scales windows, and as fit into the memory of a [reader](reader).
pub(crate) const WINDOW: u32 = 65_535;

/// TCP over Caladan as a datapath, for tasks of [its runtime](crate::CaladanRuntime). Messages are framed as
/// [`framing`](bertha_core::framing) says, so peers may use TCP through the kernel.
///
/// `connect` fails after five seconds if the peer does not answer, and at once, with
/// [`Unreachable`](bertha_core::ErrorKind::Unreachable), if the peer reports a closed port. Processes over
/// Caladan send such reports in a form that does not count.
///
/// The datapath serves peers that speak TCP. Caladan's TCP has neither congestion control nor a time-out for
/// established connections, repeats segments after 300 ms, and looks for repetitions every 10 ms; when a
/// process ends, data that it had not sent is lost.
#[derive(Debug, Clone)]
pub struct Tcp {
    largest: usize,
    backlog: u32,
}

impl Default for Tcp {
    fn default() -> Self {
        Self { largest: 16 << 20, backlog: 1024 }
    }
}

impl Tcp {
    /// Creates a datapath with the default settings of the methods below.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the largest message in bytes: 16 MiB by default, at most 127 MiB. A peer that announces a larger
    /// message is [`Malformed`](bertha_core::ErrorKind::Malformed), which ends the connection.
    #[must_use]
    pub fn largest(self, bytes: usize) -> Self {
        Self { largest: bytes.min(127 << 20), ..self }
    }

    /// Bounds the connections of a listener that wait to be accepted: 1024 by default. A peer that comes when
    /// so many wait gets no answer, and tries again.
    #[must_use]
    pub fn backlog(self, connections: u32) -> Self {
        Self { backlog: connections.max(1), ..self }
    }
}

impl Datapath for Tcp {
    type Connection = TcpConnection;
    type Listener = TcpListener;

    async fn connect(&self, to: Addr) -> Result<TcpConnection, Error> {
        let peer = address::peer(&to)?;
        if !places::has_room() {
            return Err(places::no_room());
        }
        let failed = |error: io::Error| {
            let what = format!("connect to {peer}");
            match error.kind() {
                // Caladan reports a closed port by this error.
                io::ErrorKind::ConnectionReset => {
                    failed(io::Error::new(io::ErrorKind::ConnectionRefused, error), &what)
                }
                _ => failed(error, &what),
            }
        };
        let socket = TcpSocket::dial(peer).map_err(failed)?;
        let established = poll_fn(|cx| {
            let would_block = |result: &io::Result<()>| {
                result.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
            };
            let mut established = socket.established();
            if would_block(&established) {
                socket.events().wait_to_write(cx);
                established = socket.established();
            }
            if would_block(&established) { Poll::Pending } else { Poll::Ready(established) }
        });
        established.await.map_err(failed)?;
        Ok(TcpConnection::new(Arc::new(socket), self.largest))
    }

    async fn listen(&self, on: Addr) -> Result<TcpListener, Error> {
        let on = address::own(&on)?;
        let queue =
            TcpQueue::listen(on, self.backlog).map_err(|error| failed(error, &format!("listen on {on}")))?;
        Ok(TcpListener::new(queue, self.largest))
    }

    fn runtime(&self) -> Option<CaladanRuntime> {
        Some(CaladanRuntime)
    }
}
