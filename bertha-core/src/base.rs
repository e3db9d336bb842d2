//! The bottom of a stack, as every layer reaches it.

use crate::guarantee::{self, Set};
use crate::{Addr, Buf, Error, Marks, Runtime};

/// The delivery properties of a transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Properties {
    /// Every message that was sent arrives unless the connection fails.
    pub reliable: bool,
    /// Messages arrive in the order in which they were sent.
    pub ordered: bool,
    /// A message may arrive again although the transport is reliable and ordered: one that delivers at least once, as queues do.
    pub repeats: bool,
}

impl Properties {
    /// Messages may be lost, duplicated and reordered: UDP.
    pub const DATAGRAM: Self = Self { reliable: false, ordered: false, repeats: false };
    /// Messages arrive once and in order: framed TCP, Unix sockets.
    pub const STREAM: Self = Self { reliable: true, ordered: true, repeats: false };

    /// The properties as [guarantees](crate::guarantee). A transport that is reliable and ordered also delivers at most once, unless it
    /// [repeats](Self::repeats).
    pub fn guarantees(self) -> Set {
        let reliable = if self.reliable { Set::of::<guarantee::Reliable>() } else { Set::NONE };
        let ordered = if self.ordered { Set::of::<guarantee::Ordered>() } else { Set::NONE };
        let once = if self.reliable && self.ordered && !self.repeats {
            Set::of::<guarantee::AtMostOnce>()
        } else {
            Set::NONE
        };
        reliable | ordered | once
    }
}

/// The bottom of a connection, reachable from every layer through [`Connection::base`](crate::Connection::base).
///
/// It gives each layer direct access to the runtime, buffers, addresses and limits, so Chunnels need not pass them down.
pub trait Base: Send + Sync + 'static {
    /// The runtime that the connection's futures run on.
    type Runtime: Runtime;

    /// Tasks, time and randomness.
    fn runtime(&self) -> &Self::Runtime;

    /// A buffer of `len` zero or arbitrary bytes with the reserved headroom in front.
    ///
    /// The datapath can send it without a copy if `len` plus headroom is at most its [`mtu`](Self::mtu). A longer buffer,
    /// for a Chunnel that cuts it, may lie anywhere. A datapath that sends several messages in one piece places each
    /// buffer directly behind the previous one, with a [`BurstArena`](crate::buf::BurstArena).
    ///
    /// # Errors
    /// [`Exhausted`](crate::ErrorKind::Exhausted) if the datapath has no buffer left;
    /// [`TooLarge`](crate::ErrorKind::TooLarge) if `len` exceeds the longest buffer.
    fn buffer(&self, len: usize) -> Result<Buf, Error>;

    /// Adds `bytes` to the headroom of all later buffers. A Chunnel that writes a header in front of each message calls it
    /// once, in `connect_wrap`.
    fn reserve(&self, bytes: usize);

    /// Takes `bytes` of reserved headroom away, once no layer that reserved them is in use any more: the stack of a
    /// connection can change, and the remaining layers keep theirs. The default does nothing.
    fn release(&self, _bytes: usize) {}

    /// The headroom that layers have reserved so far, in bytes. In `connect_wrap` it is the headers that the layers *below*
    /// add to each message, so the largest message that the caller may send is the
    /// [`mtu`](crate::Connection::mtu) of the connection below, less this.
    fn reserved(&self) -> usize;

    /// The largest message that the datapath carries, in bytes, headers of Chunnels included. A layer uses the
    /// [`mtu`](crate::Connection::mtu) of the connection below instead, since a Chunnel that cuts messages raises that.
    fn mtu(&self) -> usize;

    /// Lets the peer send messages of at most `bytes` from now on; `usize::MAX` lets it send any that the datapath carries. A longer
    /// message is [`Malformed`](crate::ErrorKind::Malformed) and ends the connection. With it a server bounds the memory that a stranger takes
    /// before the first message. The default does nothing, as suits a datapath whose messages arrive whole.
    fn limit_received(&self, _bytes: usize) {}

    /// The address of this end.
    fn local_addr(&self) -> Addr;

    /// The address of the other end.
    fn peer_addr(&self) -> Addr;

    /// The delivery properties of the transport.
    fn properties(&self) -> Properties;

    /// With `true`, lets routers mark later datagrams instead of dropping them when a queue builds up (explicit congestion
    /// notification, RFC 3168), and begins to count [`marks`](Self::marks); with `false`, lets them no more. Off at first, and then it
    /// costs nothing. Returns whether the datapath carries marks; one that does not, as by default, does nothing.
    ///
    /// For the layer that controls congestion: it has to tell the peer about marks, and to send less for those that the peer tells it
    /// about. It turns them off if the peer tells nothing.
    fn set_ecn(&self, _on: bool) -> bool {
        false
    }

    /// The datagrams that arrived with a mark for congestion, since [`set_ecn`](Self::set_ecn) was first called. None by default.
    fn marks(&self) -> Marks {
        Marks::default()
    }
}
