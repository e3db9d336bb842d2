//! What every layer of a stack may ask of the datapath at the bottom.

use crate::guarantee::{self, Set};
use crate::{Addr, Buf, Error, Runtime};

/// What kind of transport a base connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Properties {
    /// Every message that was sent arrives unless the connection fails.
    pub reliable: bool,
    /// Messages arrive in the order in which they were sent.
    pub ordered: bool,
}

impl Properties {
    /// Messages may be lost, duplicated and reordered: UDP.
    pub const DATAGRAM: Self = Self { reliable: false, ordered: false };
    /// Messages arrive once and in order: framed TCP, Unix sockets.
    pub const STREAM: Self = Self { reliable: true, ordered: true };

    /// The same in the words of [guarantees](crate::guarantee). What is reliable and ordered comes at most once.
    pub fn guarantees(self) -> Set {
        let reliable = if self.reliable { Set::of::<guarantee::Reliable>() } else { Set::NONE };
        let ordered = if self.ordered { Set::of::<guarantee::Ordered>() } else { Set::NONE };
        let once = if self.reliable && self.ordered { Set::of::<guarantee::AtMostOnce>() } else { Set::NONE };
        reliable | ordered | once
    }
}

/// The bottom of a connection, reachable from every layer through [`Connection::base`](crate::Connection::base).
///
/// It carries what Chunnels would otherwise have to hand down to each other: runtime, buffers, addresses and limits.
pub trait Base: Send + Sync + 'static {
    /// The runtime that the connection's futures run on.
    type Runtime: Runtime;

    /// Tasks, time and randomness.
    fn runtime(&self) -> &Self::Runtime;

    /// A buffer of `len` zero or arbitrary bytes with the reserved headroom in front.
    ///
    /// The datapath can send it without a copy if `len` plus headroom is at most its [`mtu`](Self::mtu). A longer one, for
    /// a Chunnel that cuts it, may lie anywhere. A datapath that sends several messages as one places it behind the one
    /// before it, by a [`BurstArena`](crate::buf::BurstArena).
    ///
    /// # Errors
    /// [`Exhausted`](crate::ErrorKind::Exhausted) if the datapath has no buffer left;
    /// [`TooLarge`](crate::ErrorKind::TooLarge) if no buffer can be so long.
    fn buffer(&self, len: usize) -> Result<Buf, Error>;

    /// Asks for `bytes` more headroom in buffers from now on. A Chunnel that writes a header in front of each
    /// message calls it once, in `connect_wrap`.
    fn reserve(&self, bytes: usize);

    /// Gives back `bytes` that were reserved, once no layer that asked for them is in use any more: the stack of a connection
    /// can change, and messages have to keep their room. The default keeps them.
    fn release(&self, _bytes: usize) {}

    /// The headroom that layers have reserved so far, in bytes. In `connect_wrap` this is what the layers *below*
    /// will add to each message, so [`Connection::mtu`](crate::Connection::mtu) of the connection below less this is the
    /// largest message that the caller may send.
    fn reserved(&self) -> usize;

    /// The largest message that the datapath carries, in bytes, headers of Chunnels included. A layer asks the connection
    /// below for its [`mtu`](crate::Connection::mtu), which a Chunnel that cuts messages raises.
    fn mtu(&self) -> usize;

    /// The address of this end.
    fn local_addr(&self) -> Addr;

    /// The address of the other end.
    fn peer_addr(&self) -> Addr;

    /// What the transport promises.
    fn properties(&self) -> Properties;
}
