//! Datagram sockets of all kinds: connections that share a socket, and bursts.

mod connection;
mod listener;
mod refusal;
mod sendmmsg;
mod statistics;
mod steered;

use crate::endpoint::{Endpoint, ReceivingSocket};
use crate::window::Window;
use crate::{SocketBase, Waiting};
use bertha_core::{Addr, Buf, Error, ErrorKind, Properties, Steering};
use bertha_runtime::polling::Limits;
pub use connection::DatagramConnection;
pub use listener::DatagramListener;
pub(crate) use refusal::refusal;
pub(crate) use sendmmsg::sendmmsg;
pub use statistics::DatagramStatistics;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
pub(crate) use steered::Steered;

/// A kind of datagram socket, as the connections that share it use it.
pub trait DatagramSocket: ReceivingSocket<Socket: AsFd> {
    /// Name of the datapath in errors.
    const NAME: &'static str;

    /// The promises of the socket's connections.
    const PROPERTIES: Properties;

    /// The address of a peer in the form that sending takes.
    type Remote: Send + Sync;

    /// Returns the address of `peer` in the form for sending, where the socket is not connected.
    fn remote(&self, peer: &Self::Peer) -> Self::Remote;

    /// Returns the base of a connection to `peer`, whose messages are sent to `remote`.
    fn base(self: &Arc<Self>, peer: &Self::Peer, remote: &Self::Remote) -> SocketBase;

    /// Returns the address that the socket is bound to.
    fn local_addr(&self) -> Addr;

    /// Sends one message.
    fn send_one(&self, message: &[u8], to: &Self::Remote) -> io::Result<()>;

    /// The form in which the socket takes a burst.
    type Burst: Burst;

    /// Sends as many messages of `burst` as fit into a system call, at least one message, and removes the
    /// sent messages.
    fn send_some(&self, burst: &mut Self::Burst, to: &Self::Remote) -> io::Result<()>;

    /// Opens sockets for shards at the address of this socket, among which the kernel picks by a rule. The
    /// default refuses.
    ///
    /// # Errors
    /// [`Unavailable`](ErrorKind::Unavailable) with the reason.
    fn steer(&self, _by: &Steering) -> Result<Steered<Self>, Error>
    where
        Self: Sized,
    {
        Err(Error::new(ErrorKind::Unavailable, "this datapath steers no messages to shards").at(Self::NAME))
    }
}

/// Messages of a burst that were taken and not sent yet. The value lives in the future of a batch call, so
/// that no burst needs an allocation.
pub trait Burst: Send {
    /// Creates an empty burst.
    fn new() -> Self;

    /// Takes as many messages as can wait together, none of them longer than `mtu`. A message that is too long
    /// is dropped: its length is returned, and no message behind it is taken.
    fn fill(&mut self, messages: &mut impl Iterator<Item = Buf>, mtu: usize) -> Option<usize>;

    /// Returns the length of the message that is sent next, or `None` if the burst is empty.
    fn next_len(&self) -> Option<usize>;
}

/// Sends all messages in their order.
impl Burst for Window {
    fn new() -> Self {
        Self::new()
    }

    fn fill(&mut self, messages: &mut impl Iterator<Item = Buf>, mtu: usize) -> Option<usize> {
        let mut oversize = None;
        if self.is_empty() {
            let mut fitting = messages.map_while(|message| {
                oversize = Some(message.len()).filter(|len| *len > mtu);
                oversize.is_none().then_some(message)
            });
            self.fill(&mut fitting, usize::MAX);
        }
        oversize
    }

    fn next_len(&self) -> Option<usize> {
        self.iter().next().map(|message| message.len())
    }
}

/// Returns the connection of a connected socket.
pub(crate) fn connected<S: DatagramSocket>(
    socket: S,
    peer: S::Peer,
    remote: S::Remote,
    limits: Limits,
    waiting: Waiting,
) -> DatagramConnection<S> {
    let socket = Arc::new(socket);
    let base = socket.base(&peer, &remote);
    let (endpoint, slot) = Endpoint::connected(socket, peer, limits, waiting);
    DatagramConnection::new(endpoint, slot, base, remote)
}

/// Returns the listener of a bound socket.
pub(crate) fn listening<S: DatagramSocket>(
    socket: S,
    limits: Limits,
    waiting: Waiting,
) -> DatagramListener<S> {
    DatagramListener::new(Endpoint::listening(Arc::new(socket), limits, waiting), limits, waiting)
}
