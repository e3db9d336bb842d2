//! The bottom of the house: what gives connections to addresses.

use crate::{Addr, Buf, Connection, Error, Properties};

/// A way to the wire: kernel sockets, a poll-mode driver, a simulated network.
///
/// Its connections carry [`Buf`]s, each a message of at most [`mtu`](crate::Base::mtu) bytes. Implementers say in
/// [`Properties`](crate::Properties) what they promise about loss and order, and never wait for negotiation: that
/// runs over the connections that they give.
pub trait Datapath: Send + Sync + 'static {
    /// A base connection.
    type Connection: Connection<Data = Buf>;
    /// What accepts base connections.
    type Listener: Listener<Connection = Self::Connection>;

    /// Opens a base connection to `to`. Over datagrams this sends nothing.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) if the address is of a kind that this datapath can't reach,
    /// [`Unreachable`](crate::ErrorKind::Unreachable) if it answers that nobody is there.
    fn connect(&self, to: Addr) -> impl Future<Output = Result<Self::Connection, Error>> + Send;

    /// Starts to accept base connections at `on`.
    ///
    /// # Errors
    /// [`AddrInUse`](crate::ErrorKind::AddrInUse) if something listens there already; [`Invalid`](crate::ErrorKind::Invalid) if the
    /// address can't be used.
    fn listen(&self, on: Addr) -> impl Future<Output = Result<Self::Listener, Error>> + Send;
}

/// Accepts base connections.
///
/// Over datagrams, the first message from an unknown address makes a connection, from which that message can then be
/// received. The listener keeps no state for an address once its connection was dropped, and never holds more than a
/// bounded number of connections that were not accepted yet; beyond that, messages from unknown addresses are dropped
/// and counted.
pub trait Listener: Send + Sync + 'static {
    /// A base connection.
    type Connection: Connection<Data = Buf>;

    /// Waits for the next base connection. Cancellation-safe.
    ///
    /// # Errors
    /// Only if the listener itself can't go on; what a single peer does never ends it.
    fn accept(&self) -> impl Future<Output = Result<Self::Connection, Error>> + Send;

    /// Where it listens, with the port that the system chose.
    fn local_addr(&self) -> Addr;

    /// What its connections promise, if they all promise the same: a server whose stack can't hold over them is then
    /// told when it starts to listen, rather than with each client.
    fn properties(&self) -> Option<Properties> {
        None
    }
}
