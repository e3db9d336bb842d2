//! Messages to send: from a connection's frames, with room for headers, to the port.

use super::QueueState;
use crate::Pool;
use crate::failure::failure;
use crate::mbuf::{Burst, Packet};
use crate::port::PortHandle;
use bertha_core::{Buf, Error, ErrorKind};
use bertha_dpdk_sys as sys;
use bertha_netstack::{Path, Route};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A transmit queue of a port.
// The value is the only `TxQueue` with its port and number.
pub(crate) struct TxQueue {
    port: Arc<PortHandle>,
    number: u16,
}

impl TxQueue {
    /// # Safety
    /// The port was set up with a transmit queue of this number, and the function is called once for each
    /// number.
    pub(crate) unsafe fn new(port: Arc<PortHandle>, number: u16) -> Self {
        Self { port, number }
    }

    /// Sends frames from the front of `burst`, as many as the port takes at this moment. Returns the number
    /// of sent frames.
    #[inline]
    pub(crate) fn transmit(&mut self, burst: &mut Burst) -> usize {
        let port = self.port.number;
        let number = self.number;
        let send = |frames, count| {
            // SAFETY: the port is open as long as its handle lives. No other thread sends to the queue:
            // `self` is exclusive, and the only value of its number. `empty` gives `count` whole packets.
            unsafe { sys::bertha_dpdk_transmit(port, number, frames, count) }
        };
        let has_frames = !burst.is_empty();
        // SAFETY: `rte_eth_tx_burst` returns the number of packets that it has taken, from the first on.
        let sent = unsafe { burst.send_with(send) };
        if sent == 0 && has_frames {
            // Relaxed access suffices for a count.
            self.port.refused.fetch_add(1, Ordering::Relaxed);
        }
        sent
    }
}

/// The way of a queue to a transmit queue.
pub(crate) enum Transmitter {
    /// A transmit queue that no other queue uses.
    Own(TxQueue),
    /// A transmit queue that several queues share, since the port has too few. No other lock is taken under
    /// this lock.
    Shared(Arc<Mutex<TxQueue>>),
    /// No transmit queue: the port has none.
    None,
}

impl Transmitter {
    /// Sends frames from the front of `burst`, as many as the port takes at this moment. Returns the number
    /// of sent frames.
    #[inline]
    pub(crate) fn transmit(&mut self, burst: &mut Burst) -> usize {
        match self {
            Self::Own(queue) => queue.transmit(burst),
            Self::Shared(queue) => queue.lock().transmit(burst),
            Self::None => 0,
        }
    }
}

/// The outcome of sending frames.
pub(crate) enum Sent {
    /// The headers are written, and the port has taken as many frames as it could.
    Transmitted,
    /// The frames were for this interface itself, and are delivered.
    Locally,
    /// The frames are kept, and sent when their neighbour has answered.
    Kept,
    /// Frames are left: the link has to come up, or a neighbour to answer for which as many frames as allowed
    /// wait.
    Resolving,
}

/// A frame with room for headers.
pub(crate) struct Frame {
    pub(crate) packet: Packet,
    /// True if the message was copied, since it could not be sent from its place.
    pub(crate) copied: bool,
}

impl Frame {
    /// Makes a frame of a message, with `headers` bytes of room in front, in its place if possible.
    // Inlining is forced, since the result is long, and would go through memory otherwise.
    #[inline(always)]
    pub(crate) fn new(pool: Pool, message: Buf, headers: usize) -> Result<Self, Error> {
        match Packet::with_headers(headers, message) {
            Ok(packet) => Ok(Self { packet, copied: false }),
            Err(message) => Self::copy(pool, message, headers),
        }
    }

    #[cold]
    fn copy(pool: Pool, message: Buf, headers: usize) -> Result<Self, Error> {
        let mut copy = pool.buffer(headers + message.len(), 0)?;
        copy[headers..].copy_from_slice(&message);
        match Packet::from_buf(copy) {
            Ok(packet) => Ok(Self { packet, copied: true }),
            Err(_) => Err(failure(ErrorKind::Io, "a new buffer is not the pool's")),
        }
    }
}

impl QueueState {
    /// Writes the headers of a connection's frames and passes the frames to the port, if the headers are
    /// known. Returns true if they are known. Frames that the port does not take stay in the burst.
    #[inline]
    pub(crate) fn send_on_known_path(&mut self, connection: usize, burst: &mut Burst) -> bool {
        let (_, state) = self.connections.demux.connection_mut(connection);
        match &state.path {
            Some(path) if self.network.stack.is_current(path, self.network.now) => {
                write_headers(path, burst);
                self.network.transmitter.transmit(burst);
                true
            }
            _ => false,
        }
    }

    /// Sends as [`send_on_known_path`](Self::send_on_known_path), and finds out the headers first if
    /// necessary.
    pub(crate) fn send(&mut self, connection: usize, burst: &mut Burst) -> Result<Sent, Error> {
        if self.send_on_known_path(connection, burst) {
            return Ok(Sent::Transmitted);
        }
        self.read_clock();
        let (flow, state) = self.connections.demux.connection_mut(connection);
        let flow = *flow;
        let is_own = state.connected;
        let is_markable = state.is_markable;
        let peer = flow.peer();
        let now = self.network.now;
        let is_local = self.network.stack.interface().is_own(peer.ip());
        if !is_local && !self.network.is_up() {
            return Ok(Sent::Resolving);
        }
        let stack = &mut self.network.stack;
        let route = if is_own { stack.route(flow, now) } else { stack.route_back(flow, now) };
        match route {
            Route::Ready(path) => {
                let max = self.network.stack.max_payload(peer.ip());
                let longest = burst.iter_mut().map(|packet| packet.bytes().len()).max().unwrap_or(0);
                if longest > path.len() + max {
                    let len = longest - path.len();
                    let what = format!("message of {len} bytes to {peer}, whose path carries {max}");
                    return Err(failure(ErrorKind::TooLarge, what));
                }
                let path = if is_markable { path.markable() } else { path };
                write_headers(&path, burst);
                self.connections.demux.connection_mut(connection).1.path = Some(path);
                self.network.transmitter.transmit(burst);
                Ok(Sent::Transmitted)
            }
            Route::Local => {
                let headers = self.network.stack.interface().headers(peer.ip());
                while let Some(packet) = burst.pop() {
                    let len = packet.bytes().len();
                    self.deliver_locally(flow, packet.into_part(headers..len));
                }
                Ok(Sent::Locally)
            }
            Route::Resolving => {
                self.network.send_replies();
                Ok(self.keep_unresolved(flow, is_own, burst))
            }
            Route::NoNeighbour if !is_own => {
                self.drop_unresolved(burst);
                Ok(Sent::Kept)
            }
            Route::NoNeighbour => {
                let what = format!("nobody answers at {peer}: no neighbour says that it has the address");
                Err(failure(ErrorKind::Unreachable, what))
            }
            Route::NoRoute => {
                let what =
                    format!("no way to {peer}: it is in no subnet of the interface, and there is no gateway");
                Err(failure(ErrorKind::Unreachable, what))
            }
        }
    }

    /// Moves the remaining frames of a burst on the stack into a spare burst.
    #[cold]
    pub(crate) fn keep(&mut self, burst: &mut Burst) -> Box<Burst> {
        let mut kept = self.spare.pop().unwrap_or_default();
        std::mem::swap(&mut *kept, burst);
        kept
    }

    /// Returns a burst of [`keep`](Self::keep) to the spare bursts.
    pub(crate) fn give_back(&mut self, mut kept: Box<Burst>) {
        if self.spare.len() < super::MAX_SPARE {
            while kept.pop().is_some() {}
            self.spare.push(kept);
        }
    }
}

/// Writes the headers of all frames.
#[inline(never)]
fn write_headers(path: &Path, burst: &mut Burst) {
    for packet in burst.iter_mut() {
        path.seal(packet.bytes_mut());
    }
    if let Some(offloaded) = path.offloaded() {
        burst.iter_mut().for_each(|packet| packet.offload(offloaded));
    }
}
