//! An emulated link: a rate that may change over time, a buffer, chance, and marks.
//!
//! The emulator has no I/O and runs in virtual time: its arguments are the length of a packet and the time of
//! its arrival, and its result is the packet's [`Fate`].

mod cellular;
mod path;
mod rate;

pub use path::Path;
pub use rate::Rate;

use crate::rng::Rng;
use std::collections::VecDeque;
use std::time::Duration;

/// Largest number of waiting packets, of any length.
const MAX_PACKETS: usize = 1 << 20;

/// The outcome for a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The packet arrives at the far end.
    Delivered {
        /// Time of its arrival, on the clock of [`Emulator::admit`].
        at: Duration,
        /// True if the packet was marked for congestion (RFC 3168).
        is_marked: bool,
    },
    /// The packet does not arrive.
    Dropped(Cause),
}

/// The reason why a packet was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The buffer had no room for the packet.
    BufferFull,
    /// The packet was lost by [`Path::loss`].
    Chance,
}

/// A direction of an emulated [`Path`]: a first-in-first-out queue in front of a link.
///
/// ```
/// use bertha_datapath_sim::{Emulator, Fate, Path, Rate};
/// use std::time::Duration;
///
/// // A megabyte per second, 10 ms each way, and a buffer of a single bandwidth-delay product.
/// let path = Path::new(Rate::fixed(1_000_000), Duration::from_millis(10)).buffered(1.0);
/// let mut emulator = Emulator::new(path, 42);
/// let at = Duration::from_millis(11);
/// assert_eq!(emulator.admit(Duration::ZERO, 1_000, false), Fate::Delivered { at, is_marked: false });
/// ```
#[derive(Debug)]
pub struct Emulator {
    path: Path,
    rng: Rng,
    /// The packets that have not left the link's near end, the oldest first.
    waiting: VecDeque<WaitingPacket>,
    waiting_bytes: u64,
    /// Time at which the link is free again.
    free_at: Duration,
}

#[derive(Debug)]
struct WaitingPacket {
    len: u64,
    gone_at: Duration,
}

impl Emulator {
    /// Creates an idle link. The seed decides chance.
    pub fn new(path: Path, seed: u64) -> Self {
        let rng = Rng::new(seed, 3);
        Self { path, rng, waiting: VecDeque::new(), waiting_bytes: 0, free_at: Duration::ZERO }
    }

    /// Takes a packet of `len` bytes at `now`, which must not be before the time of the previous packet. Only
    /// a packet whose ends understand marks (`is_markable`) is marked.
    pub fn admit(&mut self, now: Duration, len: u64, is_markable: bool) -> Fate {
        self.advance(now);
        // A packet that is larger than the whole buffer passes if it need not wait.
        let fits = self.waiting.is_empty() || self.waiting_bytes.saturating_add(len) <= self.path.buffer;
        if !fits || self.waiting.len() >= MAX_PACKETS {
            return Fate::Dropped(Cause::BufferFull);
        }
        let is_marked = is_markable && self.path.marks_above.is_some_and(|bytes| self.waiting_bytes > bytes);
        self.free_at = self.path.rate.finish(self.free_at.max(now), len);
        self.waiting.push_back(WaitingPacket { len, gone_at: self.free_at });
        self.waiting_bytes += len;
        // Loss comes after the queue: a packet that is lost on the wire has used the queue.
        if self.rng.chance(self.path.loss) {
            return Fate::Dropped(Cause::Chance);
        }
        Fate::Delivered { at: self.free_at.saturating_add(self.path.delay), is_marked }
    }

    /// Returns the number of bytes that wait at `now`, including the packet that is being sent.
    pub fn queued_bytes(&mut self, now: Duration) -> u64 {
        self.advance(now);
        self.waiting_bytes
    }

    /// Returns the time for which a packet that arrives at `now` waits.
    pub fn queueing_delay(&self, now: Duration) -> Duration {
        self.free_at.saturating_sub(now)
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the packets that have left.
    fn advance(&mut self, now: Duration) {
        while let Some(gone) = self.waiting.pop_front_if(|oldest| oldest.gone_at <= now) {
            self.waiting_bytes -= gone.len;
        }
    }
}
