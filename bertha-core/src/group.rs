//! The bottom for connections with any number of endpoints.

use crate::{Buf, Connection, Error};
use std::time::Duration;

/// A way to reach the members of a group at once: UDP multicast, a simulated one, a topic of a messaging service.
///
/// A message reaches all members *other* than its sender, or [one of those that receive](Delivery::Shared). A group promises no more than
/// a datagram datapath does: messages may be lost, duplicated and reordered; one whose messages are shared does not lose
/// any. The group does not know its members; its users agree on them by other means.
pub trait Group: Send + Sync + 'static {
    /// A member's base connection. Its [`mtu`](crate::Base::mtu) holds for all members, and its peer address is the group's.
    type Connection: Connection<Data = Buf>;

    /// Joins the group, and receives the messages that others send from then on. Closing or dropping the connection leaves
    /// the group.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) if the address is not that of a group; those of the system.
    fn join(&self) -> impl Future<Output = Result<Self::Connection, Error>> + Send;

    /// The members that a message reaches.
    fn delivery(&self) -> Delivery {
        Delivery::ToAll
    }
}

/// The members of a [`Group`] that a message reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delivery {
    /// All but its sender.
    ToAll,
    /// One of those that receive. It is kept until its receiver has dropped it, and otherwise delivered again, to any of them.
    Shared {
        /// Whether this member sends.
        sends: bool,
        /// Whether it receives.
        receives: bool,
        /// The time after which a message that was not dropped is delivered again, also to others, for certain once its receiver has gone.
        redelivery: Duration,
    },
}
