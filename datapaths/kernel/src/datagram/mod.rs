//! Datagram sockets of all kinds: connections that share one socket, and bursts.

mod connection;
mod listener;
mod refusal;
mod sendmmsg;

use crate::endpoint::{Endpoint, ReceivingSocket};
use crate::window::Window;
use crate::{SocketBase, Waiting};
use bertha_core::buf::BurstArena;
use bertha_core::{Addr, Buf, Error, Properties};
use bertha_polling::Limits;
pub use connection::DatagramConnection;
pub use listener::DatagramListener;
pub(crate) use refusal::refusal;
pub(crate) use sendmmsg::sendmmsg;
use std::io;
use std::sync::Arc;

/// A kind of datagram socket, as the connections that share it use it.
pub trait DatagramSocket: ReceivingSocket {
    /// The datapath's name, for errors.
    const NAME: &'static str;

    /// The promises of its connections.
    const PROPERTIES: Properties;

    /// The address of a peer in the form that sending takes.
    type Remote: Send + Sync;

    /// The address of `peer`, where the socket is not connected.
    fn remote(&self, peer: &Self::Peer) -> Self::Remote;

    /// The base of a connection to `peer`, which is sent to by way of `remote`.
    fn base(self: &Arc<Self>, peer: &Self::Peer, remote: &Self::Remote) -> SocketBase;

    /// Where the socket is bound.
    fn local_addr(&self) -> Addr;

    /// Sends one message.
    fn send_one(&self, message: &[u8], to: &Self::Remote) -> io::Result<()>;

    /// How it takes a burst.
    type Burst: Burst;

    /// Sends as many messages of `burst` as go in one call, one at least, and removes them.
    fn send_some(&self, burst: &mut Self::Burst, to: &Self::Remote) -> io::Result<()>;
}

/// Messages of a burst that were taken and not sent yet. Lives in the future of a batch call, so that no burst needs
/// an allocation.
pub trait Burst: Send {
    /// None.
    fn new() -> Self;

    /// Takes as many messages as can wait together, none of them longer than `mtu`. Through `arena` it may say where they
    /// are to be written. Returns the length of one that is longer, which it drops, and takes none behind it.
    ///
    /// # Errors
    /// If there is no memory for one; it is dropped.
    fn fill(
        &mut self,
        messages: &mut impl Iterator<Item = Buf>,
        arena: &BurstArena,
        mtu: usize,
    ) -> Result<Option<usize>, Error>;

    /// The length of the message that is sent next, if there is one.
    fn next_len(&self) -> Option<usize>;
}

/// All messages in their order.
impl Burst for Window {
    fn new() -> Self {
        Self::new()
    }

    fn fill(
        &mut self,
        messages: &mut impl Iterator<Item = Buf>,
        _: &BurstArena,
        mtu: usize,
    ) -> Result<Option<usize>, Error> {
        let mut oversize = None;
        if self.is_empty() {
            let mut fitting = messages.map_while(|message| {
                oversize = Some(message.len()).filter(|len| *len > mtu);
                oversize.is_none().then_some(message)
            });
            self.fill(&mut fitting, usize::MAX);
        }
        Ok(oversize)
    }

    fn next_len(&self) -> Option<usize> {
        self.iter().next().map(|message| message.len())
    }
}

/// The connection of a connected socket.
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

/// The listener of a bound socket.
pub(crate) fn listening<S: DatagramSocket>(
    socket: S,
    limits: Limits,
    waiting: Waiting,
) -> DatagramListener<S> {
    DatagramListener::new(Endpoint::listening(Arc::new(socket), limits, waiting))
}
