//! Connections that outlive the addresses of their peers.

use crate::Addr;
use std::any::Any;

/// A Chunnel whose connections have ids of their own. As the lowest Chunnel of a server's stack it is asked about the data that
/// comes from an address without a connection.
#[doc(hidden)]
pub trait Roaming: Send + Sync {
    /// Returns true if this message belongs to a connection that this value has made.
    fn knows(&self, message: &[u8]) -> bool;

    /// Gives the connection of this message a further path to its peer: `inner` is a connection of the type on which the
    /// Chunnel stands, to the address from which the message has come, and has the message to receive. Returns false, and drops
    /// `inner`, if the connection does not take it.
    fn adopt(&self, message: &[u8], inner: Box<dyn Any + Send>) -> bool;

    /// Returns the reply to a message that belongs to no connection of this process, by which the peer's Chunnel learns that its
    /// connection is gone. It is shorter than the message. `local` is the address at which the message has arrived.
    fn disown(&self, message: &[u8], local: &Addr) -> Option<Vec<u8>>;
}
