//! The driver's requirements of a connection.

use std::fmt;
use std::future::Future;

use bertha::Runtime;
use bertha_kvstore::Message;

/// A connection to the store, for as long as a benchmark runs.
///
/// The connection may lose, double and reorder messages; the driver repeats requests and matches replies
/// itself.
pub trait Port: Send + Sync + 'static {
    /// The runtime below the connection.
    type Runtime: Runtime;

    /// Returns the runtime on which the connection is driven.
    fn runtime(&self) -> &Self::Runtime;

    /// Returns the maximum number of bytes of a message that the connection carries, in its encoding.
    fn room(&self) -> usize;

    /// Sends all `messages` in order and leaves the vector empty.
    ///
    /// The driver polls the future to its end, and takes replies through [`Port::recv_batch`] while it waits.
    ///
    /// # Errors
    /// A [`PortError`] ends the connection. A message that could not be sent and leaves the connection usable
    /// (a full queue) is a loss, not an error.
    fn send_batch(&self, messages: &mut Vec<Message>) -> impl Future<Output = Result<(), PortError>> + Send;

    /// Waits for at least one message, appends the available messages up to `limit`, and returns their
    /// number.
    ///
    /// The future is cancellation-safe: if it is dropped before it is ready, no message is lost. Malformed
    /// messages are dropped and counted below.
    ///
    /// # Errors
    /// A [`PortError`] ends the connection.
    fn recv_batch(
        &self,
        into: &mut Vec<Message>,
        limit: usize,
    ) -> impl Future<Output = Result<usize, PortError>> + Send;

    /// Returns the last error that the connection has survived: the likely reason for which requests were not
    /// answered.
    fn trouble(&self) -> Option<String> {
        None
    }

    /// Closes the connection in order, so that the store does not take it for one that was cut. A connection that has
    /// ended already stays as it is.
    fn close(&self) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}

/// The reason why a connection can no longer be used.
#[derive(Debug)]
pub enum PortError {
    /// The peer has closed the connection.
    Closed,
    /// The connection failed.
    Failed(Box<dyn std::error::Error + Send + Sync>),
}

impl fmt::Display for PortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the store closed the connection"),
            Self::Failed(_) => f.write_str("the connection to the store failed"),
        }
    }
}

impl std::error::Error for PortError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Closed => None,
            Self::Failed(source) => Some(&**source),
        }
    }
}
