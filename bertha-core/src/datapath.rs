//! The bottom of a stack: base connections to addresses.

use crate::{Addr, Base, Buf, Connection, Error, ErrorKind, Properties, STEERED_PREFIX, Siblings, Steering};

/// A way to the wire: kernel sockets, a poll-mode driver, a simulated network.
///
/// Its connections carry [`Buf`]s, each a message of at most [`mtu`](crate::Base::mtu) bytes. Implementers say in
/// [`Properties`](crate::Properties) which promises they make about loss and order, and never wait for negotiation, which
/// runs over the base connections.
///
/// A datapath for streams of bytes is a `Datapath<Chunk>`: its connections carry [`Chunk`](crate::Chunk)s. A
/// framing Chunnel has to stand on them, without which nothing can be negotiated.
pub trait Datapath<Data = Buf>: Send + Sync + 'static {
    /// A base connection.
    type Connection: Connection<Data = Data>;
    /// The listener for base connections.
    type Listener: Listener<Data, Connection = Self::Connection>;

    /// Opens a base connection to `to`. Over datagrams this sends nothing.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) if the address is of a kind that this datapath can't reach,
    /// [`Unreachable`](crate::ErrorKind::Unreachable) if its host answers that the port is closed.
    fn connect(&self, to: Addr) -> impl Future<Output = Result<Self::Connection, Error>> + Send;

    /// Starts to accept base connections at `on`.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) if this machine can't listen at the address,
    /// [`AddrInUse`](crate::ErrorKind::AddrInUse) if another listener has the address.
    fn listen(&self, on: Addr) -> impl Future<Output = Result<Self::Listener, Error>> + Send;

    /// Returns the runtime on which its connections will run, if it is known before there is a connection.
    /// The runtime resolves names, and times the attempts at the addresses of a name. The default returns
    /// `None`: names then need a resolver, and their addresses are tried one after another.
    fn runtime(&self) -> Option<<<Self::Connection as Connection>::Base as Base>::Runtime> {
        None
    }
}

/// Accepts base connections.
///
/// Over datagrams, the first message from an unknown address makes a connection, which then receives that
/// message. The listener keeps no state for an address after its connection is dropped, and never holds more
/// than a bounded number of connections that are not accepted yet; beyond that bound, messages from unknown
/// addresses are dropped and counted.
pub trait Listener<Data = Buf>: Send + Sync + 'static {
    /// A base connection.
    type Connection: Connection<Data = Data>;

    /// Waits for the next base connection. Cancellation-safe.
    ///
    /// # Errors
    /// [`Exhausted`](crate::ErrorKind::Exhausted) while the process has no descriptor or no memory for another connection: the listener goes
    /// on, and the caller gives connections up and accepts again after a pause. Any other error only if the listener itself can't go on; no
    /// single peer can end it.
    fn accept(&self) -> impl Future<Output = Result<Self::Connection, Error>> + Send;

    /// Returns the address at which the listener accepts, with the port that the system chose.
    fn local_addr(&self) -> Addr;

    /// Returns the promises of its connections, if all connections make the same promises: a stack that can't
    /// hold over them is then refused when the server starts to listen, rather than with each client.
    fn properties(&self) -> Option<Properties> {
        None
    }

    /// Returns the maximum number of connections that the process can hold, if the system bounds them, as it
    /// does where each connection takes a descriptor. A server then holds fewer connections. The default
    /// returns `None`: there is no such bound, or the bound is unknown.
    fn capacity(&self) -> Option<usize> {
        None
    }

    /// Prepares the steering of messages to shards by this rule, whose offset counts from the first byte that
    /// the datapath carries. Called at most once, before the first `accept`. The default refuses.
    ///
    /// # Errors
    /// [`Unavailable`](crate::ErrorKind::Unavailable) with the reason why messages can't be steered:
    /// connections then work without siblings.
    fn steer(&self, _by: &Steering) -> Result<(), Error> {
        Err(Error::new(ErrorKind::Unavailable, "this datapath steers no messages to shards"))
    }

    /// Returns the siblings of one of this listener's connections, one for each shard. Once their
    /// [route](Siblings::route) has begun, they receive the peer's messages that begin with `prefix` and hold
    /// a key. All other messages arrive at `connection`. What a sibling sends leaves from the address of
    /// `connection`.
    ///
    /// # Errors
    /// [`Unavailable`](crate::ErrorKind::Unavailable) unless [`steer`](Self::steer) has succeeded.
    fn siblings(
        &self,
        _connection: &Self::Connection,
        _prefix: [u8; STEERED_PREFIX],
    ) -> Result<Siblings<Self::Connection>, Error> {
        Err(Error::new(ErrorKind::Unavailable, "this datapath steers no messages to shards"))
    }
}
