//! The bottom for connections with any number of endpoints.

use crate::{Buf, Connection, Error};

/// A way to reach all members of a group at once: UDP multicast, a simulated one.
///
/// What a member sends reaches all *other* members, never itself. A group promises no more than a datagram datapath does:
/// messages may be lost, repeated and reordered. Who is in it is not known here; whoever uses it agrees on that by other means.
pub trait Group: Send + Sync + 'static {
    /// A member's base connection. Its [`mtu`](crate::Base::mtu) holds for all members; its peer's address is the group's.
    type Connection: Connection<Data = Buf>;

    /// Joins the group. What others send from then on arrives. Dropping or closing the connection leaves.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) if the address is not that of a group; those of the system.
    fn join(&self) -> impl Future<Output = Result<Self::Connection, Error>> + Send;
}
