//! The Chunnel for the order that a messaging service keeps.

use super::ServiceOrderedConnection;
use bertha_core::{Chunnel, ConnectContext, Error, Identity, OrdersByKey, debug_fields};

/// Makes the service below keep messages with the same key in order, however many receivers share them. See
/// the [module](crate::order).
///
/// The sender alone reads keys; nothing is added to a message. Keys are hashed to 64 bits, equally in all
/// processes, and the service keeps the order of messages with equal hashes. The order is the order of the
/// calls of `send`, as far as the calls did not overlap.
///
/// It compiles directly over a connection that [can keep such an order](OrdersByKey) alone: a queue
/// connection, and the connection below the stack of a rendezvous over a queue.
///
/// # Errors
/// Connecting fails with [`Invalid`](bertha_core::ErrorKind::Invalid) over a topic or queue that keeps no
/// order by key. Use a topic that keeps it, or [`OrderedByKey`](super::OrderedByKey) if there is a single
/// receiver.
#[derive(Clone, Copy, Identity)]
pub struct ServiceOrdered {
    key: fn(&[u8]) -> &[u8],
}

impl ServiceOrdered {
    /// Makes a Chunnel that gets the key of a message from `key`.
    pub fn new(key: fn(&[u8]) -> &[u8]) -> Self {
        Self { key }
    }
}

debug_fields!(ServiceOrdered {});

impl<Inner: OrdersByKey> Chunnel<Inner> for ServiceOrdered {
    type Connection = ServiceOrderedConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        _: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        inner.keeps_order_by_key()?;
        Ok(ServiceOrderedConnection::new(inner, self.key))
    }
}
