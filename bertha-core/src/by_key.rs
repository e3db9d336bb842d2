//! Connections that keep an order for each key.

use crate::{Buf, Connection, Error};

/// A connection, most often to a messaging service, that keeps messages with the same key in order, and
/// messages with different keys in no order.
///
/// The messages of a key arrive in the order in which they were sent, however many receivers share the
/// messages.
#[diagnostic::on_unimplemented(
    message = "the connection `{Self}` has no order by key",
    label = "the Chunnel above leaves the order of messages with the same key to this connection, which can't keep one",
    note = "`ServiceOrdered` stands directly over a queue connection, or at the bottom of a rendezvous over one; elsewhere use `OrderedByKey`"
)]
pub trait OrdersByKey: Connection<Data = Buf> {
    /// Returns `Ok` if this connection keeps the order, which may depend on its configuration.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) if the connection keeps no order by key; the text says which
    /// configuration would.
    fn keeps_order_by_key(&self) -> Result<(), Error>;

    /// Works as [`send`](Connection::send), with a key: a hash that the application computes in the same way
    /// in all processes.
    ///
    /// # Errors
    /// The errors of [`send`](Connection::send) and of [`keeps_order_by_key`](Self::keeps_order_by_key).
    fn send_by_key(&self, key: u64, message: Buf) -> impl Future<Output = Result<(), Error>> + Send;

    /// Works as [`send_batch`](Connection::send_batch), with the key of each message.
    ///
    /// # Errors
    /// The errors of [`send_batch`](Connection::send_batch) and of
    /// [`keeps_order_by_key`](Self::keeps_order_by_key).
    fn send_batch_by_key(
        &self,
        messages: impl Iterator<Item = (u64, Buf)> + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send;
}
