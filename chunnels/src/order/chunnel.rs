//! The Chunnel for one order.

use super::OrderedConnection;
use super::sequence::OrderLimits;
use bertha_core::guarantee::Set;
use bertha_core::{Buf, Carries, Chunnel, ConnectContext, Error, Identity};

/// Delivers messages in the order in which they were sent. See the [module](crate::order).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Identity)]
#[chunnel(guarantees(Ordered), needs = Self::needs)]
pub struct Ordered {
    limits: OrderLimits,
}

impl Ordered {
    /// Makes a Chunnel that waits for every message, and buffers up to 8,192 early messages.
    pub fn new() -> Self {
        Self { limits: OrderLimits { capacity: 8_192, skip_after: None } }
    }

    /// Sets the number of early messages that are buffered, at least one. It should be at least the number of
    /// messages that may overtake each other below, which for [`Reliable`](crate::Reliable) is the number of
    /// messages in its buffer.
    #[must_use]
    pub fn capacity(mut self, messages: usize) -> Self {
        self.limits.capacity = messages.max(1);
        self
    }

    /// Skips a missing message once `messages` later messages have arrived, for stacks that lose messages;
    /// `messages` is at most the capacity. A message that arrives after it was skipped is dropped.
    #[must_use]
    pub fn skip_after(mut self, messages: usize) -> Self {
        self.limits.skip_after = Some(messages);
        self
    }

    fn needs(&self) -> Set {
        self.limits.needs()
    }
}

impl Default for Ordered {
    fn default() -> Self {
        Self::new()
    }
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Ordered {
    type Connection = OrderedConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        let dropped = context.counts_drops("Ordered", "repeated or late");
        let connection = OrderedConnection::new(inner, "Ordered", self.limits, 1, |_| &[], dropped);
        context.observes(&connection.held_back());
        Ok(connection)
    }
}
