//! UDP.

mod burst;
mod connection;
mod listener;
mod socket;

use crate::demux::{Demux, Limits};
use crate::endpoint::Endpoint;
use crate::{SocketBase, Waiting};
use bertha_core::{Addr, Datapath, Error, Properties};
pub use connection::UdpConnection;
pub use listener::UdpListener;
use socket::UdpSocket;
use std::net::SocketAddr;
use std::sync::Arc;

/// The name in errors.
const NAME: &str = "Udp";

/// UDP over IPv4 and IPv6 as a datapath. A message is a datagram.
///
/// Messages may be as large as a datagram, 65507 bytes (65527 over IPv6): the kernel fragments what exceeds the path's
/// MTU. Bursts of messages of equal length go out as one segmented datagram where the kernel has it, others in one
/// `sendmmsg`; what arrives is received up to 32 buffers at a time, each of up to 64 coalesced messages.
///
/// ```no_run
/// # async fn run() -> Result<(), bertha_core::Error> {
/// use bertha_core::{Base, Connection, Datapath};
/// use bertha_datapath_kernel::Udp;
///
/// let connection = Udp::new().connect("127.0.0.1:4242".parse()?).await?;
/// let mut message = connection.base().buffer(5)?;
/// message.copy_from_slice(b"hello");
/// connection.send(message).await?;
/// let answer = connection.recv().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Udp {
    waiting: Waiting,
    receive_buffer: usize,
    send_buffer: usize,
    limits: Limits,
}

impl Default for Udp {
    fn default() -> Self {
        Self {
            waiting: Waiting::default(),
            receive_buffer: 4 << 20,
            send_buffer: 4 << 20,
            limits: Limits { backlog: 1024, queue: 1024 },
        }
    }
}

impl Udp {
    /// UDP with the default settings of the methods below.
    pub fn new() -> Self {
        Self::default()
    }

    /// What a receiver does while nothing has arrived. [`Park`](Waiting::Park) by default.
    #[must_use]
    pub fn waiting(self, waiting: Waiting) -> Self {
        Self { waiting, ..self }
    }

    /// The kernel's receive buffer of each socket in bytes, 4 MiB by default. The system may grant less.
    #[must_use]
    pub fn receive_buffer(self, bytes: usize) -> Self {
        Self { receive_buffer: bytes, ..self }
    }

    /// The kernel's send buffer of each socket in bytes, 4 MiB by default. The system may grant less.
    #[must_use]
    pub fn send_buffer(self, bytes: usize) -> Self {
        Self { send_buffer: bytes, ..self }
    }

    /// How many connections of a listener may wait to be accepted, 1024 by default. Beyond that, messages from unknown
    /// addresses are dropped and counted.
    #[must_use]
    pub fn backlog(mut self, connections: usize) -> Self {
        self.limits.backlog = connections;
        self
    }

    /// How many messages may wait for each connection of a listener, 1024 by default. Beyond that, they are dropped
    /// and counted.
    #[must_use]
    pub fn queue(mut self, messages: usize) -> Self {
        self.limits.queue = messages;
        self
    }
}

impl Datapath for Udp {
    type Connection = UdpConnection;
    type Listener = UdpListener;

    /// Opens a socket that is connected to `to`, so that the kernel reports a closed port there: as
    /// [`Unreachable`](bertha_core::ErrorKind::Unreachable), from the `send` or `recv` after the message that found
    /// it closed.
    async fn connect(&self, to: Addr) -> Result<UdpConnection, Error> {
        let peer = to.ip(NAME)?;
        let open = || {
            let socket = UdpSocket::open(self, None, Some(peer))?;
            let local = socket.io.local_addr()?;
            Ok((socket, local))
        };
        let (socket, local) = open().map_err(|error| failed(error, "connect to", peer))?;
        let (demux, slot) = Demux::connected(peer, self.limits);
        let endpoint = Arc::new(Endpoint::new(socket, demux, self.waiting, true));
        Ok(UdpConnection::new(endpoint, slot, base(local, peer), None))
    }

    async fn listen(&self, on: Addr) -> Result<UdpListener, Error> {
        let addr = on.ip(NAME)?;
        let open = || {
            let socket = UdpSocket::open(self, Some(addr), None)?;
            let local = socket.io.local_addr()?;
            Ok((socket, local))
        };
        let (socket, local) = open().map_err(|error| failed(error, "listen on", addr))?;
        let endpoint = Endpoint::new(socket, Demux::listening(self.limits), self.waiting, false);
        Ok(UdpListener::new(Arc::new(endpoint), local))
    }
}

fn base(local: SocketAddr, peer: SocketAddr) -> SocketBase {
    // What the 16-bit lengths of the headers leave: IPv4 counts its own header, IPv6 does not.
    let mtu = if peer.is_ipv4() { 65_535 - 20 - 8 } else { 65_535 - 8 };
    SocketBase::new(NAME, Properties::DATAGRAM, mtu, local.into(), peer.into())
}

#[cold]
fn failed(error: std::io::Error, doing: &str, addr: SocketAddr) -> Error {
    let kind = Error::from(std::io::Error::from(error.kind())).kind();
    Error::new(kind, format!("cannot {doing} {addr}: {error}")).at(NAME).because(error)
}
