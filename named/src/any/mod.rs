//! Connections and listeners over any datapath, with any stack, as one type each.

mod connecting;
mod listening;
mod negotiated;

pub use connecting::Connecting;
pub(crate) use connecting::host_of;
pub use listening::{AnyIncoming, Listened, Listening};

use bertha::core::BoxFuture;
use bertha::core::Statistics;
use bertha::{Addr, Agreement, Base, Buf, Connection, Error, Pick};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// A connection of bytes over any datapath, with any stack.
///
/// A call allocates its future, whose type differs by datapath and stack: a program that learns both at run time has one
/// function for all of them. Futures of the lifetime `'static` may go on in a task, where the caller cannot wait.
pub trait AnyConnection: Send + Sync {
    /// Returns a buffer for a message of this many bytes.
    ///
    /// # Errors
    /// Errors of the datapath: the message is longer than it carries, or its memory is used up.
    fn buffer(&self, length: usize) -> Result<Buf, Error>;
    /// Returns the length of the longest message, in bytes.
    fn longest(&self) -> usize;
    /// Sends a message, as [`Connection::send`].
    fn send(self: Arc<Self>, message: Buf) -> BoxFuture<'static, Result<(), Error>>;
    /// Sends messages, as [`Connection::send_batch`].
    fn send_burst(self: Arc<Self>, messages: Vec<Buf>) -> BoxFuture<'static, Result<(), Error>>;
    /// Receives a message if one is there, as [`Connection::recv`] that is polled once. Allocates nothing.
    fn receive_at_once(&self) -> Option<Result<Buf, Error>>;
    /// Receives a message, as [`Connection::recv`].
    fn receive(&self) -> BoxFuture<'_, Result<Buf, Error>>;
    /// Receives the messages that are there, as [`Connection::recv_batch`].
    fn receive_burst<'a>(
        &'a self,
        into: &'a mut Vec<Buf>,
        most: usize,
    ) -> BoxFuture<'a, Result<usize, Error>>;
    /// Sends what the stack holds back, as [`Connection::drain`].
    fn drain(self: Arc<Self>) -> BoxFuture<'static, Result<(), Error>>;
    /// Closes the connection, as [`Connection::close`].
    fn close(self: Arc<Self>) -> BoxFuture<'static, Result<(), Error>>;
    /// Changes the stack; `None` if the connection was made without [`is_upgradable`](crate::Options::is_upgradable).
    fn upgrade(&self, to: Pick) -> Option<BoxFuture<'static, Result<(), Error>>>;
    /// Returns the stack in use, and the reasons for it.
    fn explain(&self) -> String;
    /// Returns the names of the Chunnels in use, top first.
    fn chunnels(&self) -> Vec<&'static str>;
    /// Returns the number of messages that arrived damaged, late or forged, and were dropped.
    fn dropped(&self) -> u64;
    /// Returns the number of dropped messages that lacked the proof that they needed.
    fn forged(&self) -> u64;
    /// Returns the state of each layer, a line for each.
    fn statistics(&self) -> String;
    /// Returns the address of the peer.
    fn peer_address(&self) -> Addr;
    /// Returns the address of this end.
    fn local_address(&self) -> Addr;
    /// Returns the identity that the peer has proved.
    fn peer_identity(&self) -> Option<String>;
    /// Returns what [`explain`](Self::explain) tells, by parts; `None` for an end of a topic, which agrees with nobody.
    fn agreement(&self) -> Option<Arc<Agreement>>;
    /// Returns what [`statistics`](Self::statistics) tells, by parts.
    fn observed(&self) -> Statistics;
}

/// A connection of any type, with what it is known for beside its messages.
pub(crate) struct Known<C, K> {
    pub(crate) connection: Arc<C>,
    pub(crate) known: K,
}

/// The knowledge about a connection beside its messages: the methods of [`AnyConnection`] of these names.
pub(crate) trait Knowledge<C>: Send + Sync + 'static {
    fn upgrade(&self, to: Pick) -> Option<BoxFuture<'static, Result<(), Error>>>;
    fn explain(&self, connection: &C) -> String;
    fn chunnels(&self, connection: &C) -> Vec<&'static str>;
    fn dropped(&self, connection: &C) -> u64;
    fn forged(&self, connection: &C) -> u64;
    fn agreement(&self, connection: &C) -> Option<Arc<Agreement>>;
    fn observed(&self, connection: &C) -> Statistics;
}

impl<C: Connection<Data = Buf>, K: Knowledge<C>> AnyConnection for Known<C, K> {
    fn buffer(&self, length: usize) -> Result<Buf, Error> {
        self.connection.base().buffer(length)
    }

    fn longest(&self) -> usize {
        self.connection.mtu().saturating_sub(self.connection.base().reserved())
    }

    fn send(self: Arc<Self>, message: Buf) -> BoxFuture<'static, Result<(), Error>> {
        Box::pin(async move { self.connection.send(message).await })
    }

    fn send_burst(self: Arc<Self>, messages: Vec<Buf>) -> BoxFuture<'static, Result<(), Error>> {
        Box::pin(async move { self.connection.send_batch(messages.into_iter()).await })
    }

    fn receive_at_once(&self) -> Option<Result<Buf, Error>> {
        match pin!(self.connection.recv()).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(received) => Some(received),
            Poll::Pending => None,
        }
    }

    fn receive(&self) -> BoxFuture<'_, Result<Buf, Error>> {
        Box::pin(self.connection.recv())
    }

    fn receive_burst<'a>(
        &'a self,
        into: &'a mut Vec<Buf>,
        most: usize,
    ) -> BoxFuture<'a, Result<usize, Error>> {
        Box::pin(self.connection.recv_batch(into, most))
    }

    fn drain(self: Arc<Self>) -> BoxFuture<'static, Result<(), Error>> {
        Box::pin(async move { self.connection.drain().await })
    }

    fn close(self: Arc<Self>) -> BoxFuture<'static, Result<(), Error>> {
        Box::pin(async move { self.connection.close().await })
    }

    fn upgrade(&self, to: Pick) -> Option<BoxFuture<'static, Result<(), Error>>> {
        self.known.upgrade(to)
    }

    fn explain(&self) -> String {
        self.known.explain(&self.connection)
    }

    fn chunnels(&self) -> Vec<&'static str> {
        self.known.chunnels(&self.connection)
    }

    fn dropped(&self) -> u64 {
        self.known.dropped(&self.connection)
    }

    fn forged(&self) -> u64 {
        self.known.forged(&self.connection)
    }

    fn statistics(&self) -> String {
        self.observed().to_string()
    }

    fn peer_address(&self) -> Addr {
        self.connection.base().peer_addr()
    }

    fn local_address(&self) -> Addr {
        self.connection.base().local_addr()
    }

    fn peer_identity(&self) -> Option<String> {
        self.connection.peer_identity().map(|identity| identity.to_string())
    }

    fn agreement(&self) -> Option<Arc<Agreement>> {
        self.known.agreement(&self.connection)
    }

    fn observed(&self) -> Statistics {
        self.known.observed(&self.connection)
    }
}
