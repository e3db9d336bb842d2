//! UDP.

mod control;
mod gso_batch;
mod io;
mod offload;
mod peer;
mod receive;
mod remote;
mod send;
mod shards;
mod socket;
mod steering;

use crate::datagram::{self, DatagramConnection, DatagramListener, DatagramSocket};
use crate::options::{Options, option_methods};
use bertha_core::{Addr, Datapath, Error, Listener};
use bertha_runtime::tokio::TokioRuntime;
use remote::Remote;
use socket::UdpSocket;
use std::net::{IpAddr, SocketAddr};

/// A base connection of [`Udp`]. A message is a datagram.
pub type UdpConnection = DatagramConnection<UdpSocket>;

/// The listener of [`Udp`].
pub type UdpListener = DatagramListener<UdpSocket>;

/// UDP over IPv4 and IPv6 as a datapath. A message is a datagram.
///
/// Messages may be as large as a datagram, 65507 bytes (65527 over IPv6): the kernel fragments messages that
/// exceed the path's MTU. In a burst, messages of equal length are sent as a segmented datagram, which the
/// kernel gathers from their buffers, and may overtake messages of another length. Messages without a message
/// of equal length, and all messages where the kernel or the path does not segment, are sent by `sendmmsg`.
/// Messages are received in up to 32 buffers at a time, each of up to 64 coalesced messages.
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
///
/// A listener on all addresses (`0.0.0.0` or `[::]`) answers each peer from the address to which the peer has
/// sent, which is the [`local_addr`](bertha_core::Base::local_addr) of the connection. The answer costs a
/// longer receiving call and, for messages that leave in no segmented datagram, a system call for each
/// message of a burst. A listener on one address pays nothing for it.
#[derive(Debug, Clone, Default)]
pub struct Udp {
    pub(super) options: Options,
    pub(super) keeps_whole: bool,
}

impl Udp {
    option_methods!();

    /// Forbids fragmentation of datagrams by this host and by routers: a message larger than the path carries
    /// is lost, without an error unless it exceeds the interface's own MTU
    /// ([`TooLarge`](bertha_core::ErrorKind::TooLarge)). The option serves layers that find out the largest
    /// datagram themselves, as RFC 8899 describes; the kernel's own estimate of the path MTU is not used. The
    /// option is off by default.
    #[must_use]
    pub fn keep_whole(mut self) -> Self {
        self.keeps_whole = true;
        self
    }
}

impl UdpListener {
    /// Opens a connection from the address of the listener to a peer, as a program does that sends before it has received. Nothing is sent. That a
    /// port is closed is not reported.
    ///
    /// # Errors
    /// [`AddrInUse`](bertha_core::ErrorKind::AddrInUse) if there is a connection to the peer, also one that waits to be accepted.
    pub fn connect(&self, peer: SocketAddr) -> Result<UdpConnection, Error> {
        let is_v6 = matches!(self.local_addr(), Addr::Ip(SocketAddr::V6(_)));
        let peer = match peer.ip() {
            // A socket of IPv6 has peers of IPv4 in the form of IPv6.
            IpAddr::V4(ip) if is_v6 => SocketAddr::new(ip.to_ipv6_mapped().into(), peer.port()),
            _ => peer,
        };
        self.open(peer.into())
    }
}

impl Datapath for Udp {
    type Connection = UdpConnection;
    type Listener = UdpListener;

    /// Opens a socket that is connected to `to`, so that the kernel reports a closed port. The `send` or
    /// `recv` after the message that found the port closed returns
    /// [`Unreachable`](bertha_core::ErrorKind::Unreachable).
    async fn connect(&self, to: Addr) -> Result<UdpConnection, Error> {
        let peer = to.ip(UdpSocket::NAME)?;
        let socket =
            UdpSocket::open(self, None, Some(peer)).map_err(|error| failed(error, "connect to", peer))?;
        let remote = Remote::connected(peer, socket.segments());
        let options = &self.options;
        Ok(datagram::connected(socket, peer.into(), remote, options.limits, options.waiting))
    }

    async fn listen(&self, on: Addr) -> Result<UdpListener, Error> {
        let addr = on.ip(UdpSocket::NAME)?;
        let socket =
            UdpSocket::open(self, Some(addr), None).map_err(|error| failed(error, "listen on", addr))?;
        Ok(datagram::listening(socket, self.options.limits, self.options.waiting))
    }

    fn runtime(&self) -> Option<TokioRuntime> {
        TokioRuntime::current()
    }
}

#[cold]
fn failed(error: std::io::Error, doing: &str, addr: SocketAddr) -> Error {
    let kind = Error::from(std::io::Error::from(error.kind())).kind();
    Error::new(kind, format!("cannot {doing} {addr}: {error}")).at(UdpSocket::NAME).because(error)
}
