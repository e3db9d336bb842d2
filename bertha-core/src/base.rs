//! The bottom of a stack, as every layer reaches it.

use crate::guarantee::{self, Set};
use crate::{Addr, Buf, EcnMarks, Error, ErrorKind, Headroom, PeerIdentity, Runtime};

/// The delivery properties of a transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Properties {
    /// Every message that was sent arrives unless the connection fails.
    pub reliable: bool,
    /// Messages arrive in the order in which they were sent.
    pub ordered: bool,
    /// True for a transport that delivers at least once, as queues do: a message may arrive again although
    /// the transport is reliable and ordered.
    pub repeats: bool,
    /// True if each message has a [receipt](crate::Buf::has_receipt): it is delivered again unless
    /// [`Buf::done`](crate::Buf::done) is called.
    pub receipts: bool,
}

impl Properties {
    /// Messages may be lost, duplicated and reordered: UDP.
    pub const DATAGRAM: Self = Self { reliable: false, ordered: false, repeats: false, receipts: false };
    /// Messages arrive once and in order: framed TCP, Unix sockets.
    pub const STREAM: Self = Self { reliable: true, ordered: true, repeats: false, receipts: false };

    /// Checks a layer that forgets the [receipts](Self::receipts) of messages, and over which each message would be
    /// delivered again and again. Such a layer calls the method when it is made.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if messages have receipts.
    pub fn refuse_receipts(self, layer: &'static str) -> Result<(), Error> {
        if !self.receipts {
            return Ok(());
        }
        let what = format!(
            "messages have to be acknowledged here, and {layer} would forget their receipts; decode messages with \
             `Serialize::with_receipts`, or let the connection acknowledge by dropping (`acknowledge_by_dropping`)"
        );
        Err(Error::new(ErrorKind::Invalid, what).at(layer))
    }

    /// Returns the properties as [guarantees](crate::guarantee). A transport that is reliable and ordered
    /// also delivers at most once, unless it [repeats](Self::repeats).
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

    /// Returns the runtime: tasks, time and randomness.
    fn runtime(&self) -> &Self::Runtime;

    /// Returns the headroom that layers have reserved.
    fn headroom(&self) -> &Headroom;

    /// Returns a buffer of `len` zero or arbitrary bytes with the reserved headroom in front. By default it
    /// lies in the pool of the process.
    ///
    /// The datapath can send it without a copy if `len` plus headroom is at most its [`mtu`](Self::mtu). A longer buffer,
    /// for a Chunnel that cuts it, may lie anywhere.
    ///
    /// # Errors
    /// [`Exhausted`](crate::ErrorKind::Exhausted) if the datapath has no buffer left;
    /// [`TooLarge`](crate::ErrorKind::TooLarge) if `len` exceeds the longest buffer.
    #[inline]
    fn buffer(&self, len: usize) -> Result<Buf, Error> {
        Buf::new(len, self.reserved())
    }

    /// Adds `bytes` to the headroom of all later buffers. A Chunnel that writes a header in front of each message calls it
    /// once, in `connect_wrap`.
    fn reserve(&self, bytes: usize) {
        self.headroom().reserve(bytes);
    }

    /// Takes `bytes` of reserved headroom away, once no layer that reserved them is in use any more: the stack of a
    /// connection can change, and the remaining layers keep their headroom.
    fn release(&self, bytes: usize) {
        self.headroom().release(bytes);
    }

    /// Returns the headroom that layers have reserved so far, in bytes. In `connect_wrap` it is the headers
    /// that the layers
    /// *below* add to each message, so the largest message that the caller may send is the
    /// [`mtu`](crate::Connection::mtu) of the connection below, less this headroom.
    #[inline]
    fn reserved(&self) -> usize {
        self.headroom().bytes()
    }

    /// Returns the largest message that the datapath carries, in bytes, headers of Chunnels included. A layer
    /// uses the [`mtu`](crate::Connection::mtu) of the connection below instead, since a Chunnel that cuts
    /// messages raises the `mtu`.
    fn mtu(&self) -> usize;

    /// Lets the peer send messages of at most `bytes` from now on; `usize::MAX` lets it send any message that
    /// the datapath carries. A longer message is [`Malformed`](crate::ErrorKind::Malformed) and ends the
    /// connection. By this limit a server bounds the memory that a stranger takes before the first message.
    /// The default does nothing, as suits a datapath whose messages arrive whole.
    fn limit_received(&self, _bytes: usize) {}

    /// Returns the address of this end.
    fn local_addr(&self) -> Addr;

    /// Returns the address of the peer.
    fn peer_addr(&self) -> Addr;

    /// Returns the identity of the peer for which the datapath itself vouches: the owner of the peer process,
    /// behind a Unix stream. The default returns `None`, as suits a network.
    fn peer_identity(&self) -> Option<PeerIdentity> {
        None
    }

    /// Returns the delivery properties of the transport.
    fn properties(&self) -> Properties;

    /// Returns true if what was sent arrives without this process: the system has it, or memory that the peer shares. Closing then need
    /// not wait for the peer. The default returns false, as suits a transport that lives in the process.
    fn delivers_alone(&self) -> bool {
        false
    }

    /// Turns explicit congestion notification (RFC 3168) on or off for later datagrams: routers may mark them
    /// instead of dropping them when a queue builds up. The first call with `true` begins to count the
    /// [`marks`](Self::marks) of arriving datagrams. Notification is off at first, and then costs nothing.
    /// Returns true if the datapath carries marks; the default does nothing and returns false.
    ///
    /// The layer that controls congestion calls this method. That layer has to tell the peer about marks, and
    /// to send less when the peer reports marks. It turns the notification off if the peer reports nothing.
    fn set_ecn(&self, _on: bool) -> bool {
        false
    }

    /// Returns the number of datagrams that arrived with a mark for congestion since
    /// [`set_ecn`](Self::set_ecn) was first called, and their bytes. The default returns zeros.
    fn marks(&self) -> EcnMarks {
        EcnMarks::default()
    }
}
