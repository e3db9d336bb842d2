//! Connections and listeners over any datapath, with any stack, as one type each.

mod connecting;
mod datagrams;
mod known;
mod listening;
mod negotiated;
mod plain;

pub use connecting::Connecting;
pub(crate) use connecting::host_of;
pub use datagrams::AnyDatagrams;
pub(crate) use known::{Knowledge, Known};
pub use listening::{AnyIncoming, Listened, Listening};

use bertha::core::BoxFuture;
use bertha::core::Statistics;
use bertha::{Addr, Agreement, Buf, Error, Pick};
use std::sync::Arc;

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
    /// Sends a message, as [`Connection::send`](bertha::Connection::send).
    fn send(self: Arc<Self>, message: Buf) -> BoxFuture<'static, Result<(), Error>>;
    /// Sends messages, as [`Connection::send_batch`](bertha::Connection::send_batch).
    fn send_burst(self: Arc<Self>, messages: Vec<Buf>) -> BoxFuture<'static, Result<(), Error>>;
    /// Receives a message if one is there, as [`Connection::recv`](bertha::Connection::recv) that is polled once. Allocates nothing.
    fn receive_at_once(&self) -> Option<Result<Buf, Error>>;
    /// Receives a message, as [`Connection::recv`](bertha::Connection::recv).
    fn receive(&self) -> BoxFuture<'_, Result<Buf, Error>>;
    /// Receives the messages that are there, as [`Connection::recv_batch`](bertha::Connection::recv_batch).
    fn receive_burst<'a>(
        &'a self,
        into: &'a mut Vec<Buf>,
        most: usize,
    ) -> BoxFuture<'a, Result<usize, Error>>;
    /// Sends what the stack holds back, as [`Connection::drain`](bertha::Connection::drain).
    fn drain(self: Arc<Self>) -> BoxFuture<'static, Result<(), Error>>;
    /// Closes the connection, as [`Connection::close`](bertha::Connection::close), and gives back what it holds of the system, so that a server may listen at its address
    /// again. Calls fail from then on, and texts and figures are those of the end.
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
    fn observed(&self) -> Arc<Statistics>;
}
