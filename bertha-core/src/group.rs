//! The bottom for connections with any number of endpoints.

use crate::{Buf, Connection, Error};

/// A way to reach all members of a group at once: UDP multicast, a simulated one.
///
/// A message reaches all members *other* than its sender. A group promises no more than a datagram datapath does: messages
/// may be lost, duplicated and reordered. The group does not know its members; its users agree on them by other means.
pub trait Group: Send + Sync + 'static {
    /// A member's base connection. Its [`mtu`](crate::Base::mtu) holds for all members, and its peer address is the group's.
    type Connection: Connection<Data = Buf>;

    /// Joins the group, and receives the messages that others send from then on. Closing or dropping the connection leaves
    /// the group.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) if the address is not that of a group; those of the system.
    fn join(&self) -> impl Future<Output = Result<Self::Connection, Error>> + Send;
}
