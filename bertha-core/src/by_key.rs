//! Connections that keep an order for each key.

use crate::{Buf, Connection, Error};

/// A connection, most often to a messaging service, that keeps messages with the same key in order, and others in none.
///
/// However many receivers share the messages, those of one key arrive in the order in which they were sent.
#[diagnostic::on_unimplemented(
    message = "the connection `{Self}` has no order by key",
    label = "the Chunnel above leaves the order of messages with the same key to this connection, which can't keep one",
    note = "`ServiceOrdered` stands directly over a queue connection, or at the bottom of a rendezvous over one; elsewhere use `OrderedByKey`"
)]
pub trait OrdersByKey: Connection<Data = Buf> {
    /// Whether this connection keeps the order, which only its configuration may tell.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) if it does not; the text says how it could.
    fn keeps_order_by_key(&self) -> Result<(), Error>;

    /// As [`send`](Connection::send), with a key: a hash of the application's that is the same in all processes.
    ///
    /// # Errors
    /// As for [`send`](Connection::send), and for [`keeps_order_by_key`](Self::keeps_order_by_key).
    fn send_by_key(&self, key: u64, message: Buf) -> impl Future<Output = Result<(), Error>> + Send;

    /// As [`send_batch`](Connection::send_batch), with the key of each message.
    ///
    /// # Errors
    /// As for [`send_batch`](Connection::send_batch), and for [`keeps_order_by_key`](Self::keeps_order_by_key).
    fn send_batch_by_key(
        &self,
        messages: impl Iterator<Item = (u64, Buf)> + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send;
}
