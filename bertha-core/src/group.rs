//! The bottom for connections with any number of endpoints.

use crate::{Buf, Connection, Error};
use std::time::Duration;

/// A way to reach the members of a group at once: UDP multicast, simulated multicast, a topic of a messaging
/// service.
///
/// A message reaches all members *other* than its sender, or [one receiving member](Delivery::Shared). A
/// group promises no more than a datagram datapath does: messages may be lost, duplicated and reordered. A
/// group whose messages are shared loses no message. The group does not know its members; its users agree on
/// them by other means.
pub trait Group: Send + Sync + 'static {
    /// A member's base connection. Its [`mtu`](crate::Base::mtu) holds for all members, and its peer address
    /// is the group's address.
    type Connection: Connection<Data = Buf>;

    /// Joins the group, and receives the messages that other members send from then on. Closing or dropping
    /// the connection leaves the group.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) if the address is not the address of a group; the errors of the
    /// system.
    fn join(&self) -> impl Future<Output = Result<Self::Connection, Error>> + Send;

    /// Returns the members that a message reaches.
    fn delivery(&self) -> Delivery {
        Delivery::ToAll
    }
}

/// The members of a [`Group`] that a message reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delivery {
    /// All members but the sender.
    ToAll,
    /// One of the receiving members. The message is kept until its receiver has dropped it; until then it may
    /// be delivered again, to any receiving member.
    Shared {
        /// True if this member sends.
        sends: bool,
        /// True if this member receives.
        receives: bool,
        /// The time after which a message that was not dropped is delivered again, to the same receiver or to
        /// another. Redelivery is certain once the receiver has gone.
        redelivery: Duration,
    },
}
