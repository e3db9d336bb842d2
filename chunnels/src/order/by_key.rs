//! The Chunnel for one order per key.

use super::OrderedConnection;
use super::sequence::OrderLimits;
use bertha_core::capability::exact;
use bertha_core::guarantee::Set;
use bertha_core::{Buf, Capability, Carries, Chunnel, ConnectContext, Error, Identity, Mismatch};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Delivers messages with the same key in the order in which they were sent. See the [module](crate::order).
///
/// Keys are hashed to groups, 1,024 by default; messages of a group are kept in order. Both ends need the
/// same number of groups. The sender alone reads keys.
#[derive(Clone, Copy, Identity)]
#[chunnel(capability = Self::groups_of, needs = Self::needs)]
pub struct OrderedByKey {
    key: fn(&[u8]) -> &[u8],
    groups: u16,
    limits: OrderLimits,
}

/// The number of groups, which has to be the same at both ends.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, Capability)]
#[capability(compare = Self::compare)]
pub(super) struct Groups(u16);

impl Groups {
    fn compare(&self, theirs: &Self) -> Result<(), Mismatch> {
        exact(self, theirs)
    }
}

impl OrderedByKey {
    /// Makes a Chunnel that gets the key of a message from `key`.
    pub fn new(key: fn(&[u8]) -> &[u8]) -> Self {
        Self { key, groups: 1_024, limits: OrderLimits { capacity: 8_192, skip_after: None } }
    }

    /// Sets the number of groups, at least one. Each group takes a few bytes at both ends.
    #[must_use]
    pub fn groups(self, groups: u16) -> Self {
        Self { groups: groups.max(1), ..self }
    }

    /// Sets the number of early messages of all groups that are buffered, at least one.
    #[must_use]
    pub fn capacity(mut self, messages: usize) -> Self {
        self.limits.capacity = messages.max(1);
        self
    }

    /// Skips a missing message once `messages` later messages of its group have arrived.
    #[must_use]
    pub fn skip_after(mut self, messages: usize) -> Self {
        self.limits.skip_after = Some(messages);
        self
    }

    fn needs(&self) -> Set {
        self.limits.needs()
    }

    fn groups_of(&self) -> Groups {
        Groups(self.groups)
    }
}

impl fmt::Debug for OrderedByKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OrderedByKey").field("groups", &self.groups).field("limits", &self.limits).finish()
    }
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for OrderedByKey {
    type Connection = OrderedConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        let dropped = context.counts_drops("OrderedByKey", "repeated or late");
        let connection =
            OrderedConnection::new(inner, "OrderedByKey", self.limits, self.groups, self.key, dropped);
        context.observes(&connection.held_back());
        Ok(connection)
    }
}
