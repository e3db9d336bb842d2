//! TCP.

mod connection;
mod listener;
mod socket;
mod writer;

use crate::Waiting;
use bertha_core::{Addr, Datapath, Error};
pub use connection::TcpConnection;
pub use listener::TcpListener;
use socket2::{Domain, Protocol, Type};
use std::io;
use std::net::SocketAddr;
use tokio::net::TcpSocket;

/// The name in errors.
const NAME: &str = "Tcp";

/// TCP over IPv4 and IPv6 as a datapath. Messages are framed as [`framing`](bertha_core::framing) says, unless it is
/// [`unframed`](Self::unframed).
///
/// Messages go out at once (`TCP_NODELAY`), a burst in one call. The messages of one receiving call are handed
/// out one by one without a copy.
#[derive(Debug, Clone)]
pub struct Tcp {
    waiting: Waiting,
    largest: usize,
    is_framed: bool,
    receive_buffer: Option<usize>,
    send_buffer: Option<usize>,
    backlog: u32,
}

impl Default for Tcp {
    fn default() -> Self {
        Self {
            waiting: Waiting::default(),
            largest: 16 << 20,
            is_framed: true,
            receive_buffer: None,
            send_buffer: None,
            backlog: 1024,
        }
    }
}

impl Tcp {
    /// A datapath with the default settings of the methods below.
    pub fn new() -> Self {
        Self::default()
    }

    /// How a receiver waits. [`Park`](Waiting::Park) by default.
    #[must_use]
    pub fn waiting(self, waiting: Waiting) -> Self {
        Self { waiting, ..self }
    }

    /// The largest message in bytes, 16 MiB by default, at most 127 MiB. A peer that announces a larger one is
    /// [`Malformed`](bertha_core::ErrorKind::Malformed), which ends the connection.
    #[must_use]
    pub fn largest(self, bytes: usize) -> Self {
        Self { largest: bytes.min(127 << 20), ..self }
    }

    /// Sends bytes without the frames of [`framing`](bertha_core::framing), for peers that speak another protocol over TCP. A message that
    /// is received is then some bytes as they arrived, at least one and at most 64 KiB: the bounds of messages that were sent are
    /// lost. So the Chunnel directly above has to find its own in a stream of bytes, as `Tls` does, and
    /// [`wrap`](bertha_core::Wrap::wrap) has to take the place of a negotiation, whose messages have bounds.
    #[must_use]
    pub fn unframed(self) -> Self {
        Self { is_framed: false, ..self }
    }

    /// The kernel's receive buffer of each socket in bytes. By default the kernel adapts it to the connection.
    #[must_use]
    pub fn receive_buffer(self, bytes: usize) -> Self {
        Self { receive_buffer: Some(bytes), ..self }
    }

    /// The kernel's send buffer of each socket in bytes. By default the kernel adapts it to the connection.
    #[must_use]
    pub fn send_buffer(self, bytes: usize) -> Self {
        Self { send_buffer: Some(bytes), ..self }
    }

    /// How many connections the kernel holds until they are accepted, 1024 by default. The system may grant less.
    #[must_use]
    pub fn backlog(self, connections: u32) -> Self {
        Self { backlog: connections, ..self }
    }

    fn socket(&self, addr: SocketAddr) -> io::Result<socket2::Socket> {
        let socket =
            socket2::Socket::new(Domain::for_address(addr), Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
        if let Some(bytes) = self.receive_buffer {
            socket.set_recv_buffer_size(bytes)?;
        }
        if let Some(bytes) = self.send_buffer {
            socket.set_send_buffer_size(bytes)?;
        }
        Ok(socket)
    }

    async fn open(&self, peer: SocketAddr) -> io::Result<TcpConnection> {
        let socket = TcpSocket::from_std_stream(self.socket(peer)?.into());
        TcpConnection::new(socket.connect(peer).await?, peer, self)
    }

    fn bind(&self, on: SocketAddr) -> io::Result<TcpListener> {
        let socket = self.socket(on)?;
        // Else a server that is started again can't listen until its old connections have timed out.
        socket.set_reuse_address(true)?;
        socket.bind(&on.into())?;
        socket.listen(i32::try_from(self.backlog).unwrap_or(i32::MAX))?;
        TcpListener::new(tokio::net::TcpListener::from_std(socket.into())?, self.clone())
    }
}

impl Datapath for Tcp {
    type Connection = TcpConnection;
    type Listener = TcpListener;

    async fn connect(&self, to: Addr) -> Result<TcpConnection, Error> {
        let peer = to.ip(NAME)?;
        self.open(peer).await.map_err(|error| failed(error, "connect to", peer))
    }

    async fn listen(&self, on: Addr) -> Result<TcpListener, Error> {
        let addr = on.ip(NAME)?;
        self.bind(addr).map_err(|error| failed(error, "listen on", addr))
    }
}

#[cold]
fn failed(error: io::Error, doing: &str, addr: SocketAddr) -> Error {
    let error = Error::from(error);
    Error::new(error.kind(), format!("cannot {doing} {addr}: {}", error.context())).at(NAME).because(error)
}
