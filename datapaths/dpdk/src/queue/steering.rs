//! Frames that arrive in a queue and belong to another queue.
//!
//! [`Spread`] assigns a queue to every flow. A port that spreads flows in this way leaves nothing to do here.
//! For any other port, the thread that polls a queue puts foreign frames into the rings of their queues,
//! which take them as if they had arrived there.

use crate::Pool;
use crate::mbuf::{Burst, Packet};
use bertha_netstack::{Destination, Spread};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of frames that may wait in a ring: as many as in a port's queue by default.
const CAPACITY: usize = 1024;

/// The frames that other queues have handed over to a queue.
///
/// Several queues put frames here, a burst at a time; the owning queue takes them, and reads only the count
/// while the ring is empty.
#[derive(Debug)]
pub(crate) struct Ring {
    waiting: AtomicUsize,
    frames: Mutex<VecDeque<Packet>>,
}

impl Ring {
    fn new() -> Self {
        Self { waiting: AtomicUsize::new(0), frames: Mutex::new(VecDeque::with_capacity(CAPACITY)) }
    }

    /// Moves the burst's frames to the end. Frames that don't fit stay in the burst.
    fn put(&self, burst: &mut Burst) {
        let mut frames = self.frames.lock();
        while frames.len() < CAPACITY
            && let Some(packet) = burst.pop()
        {
            frames.push_back(packet);
        }
        // Relaxed access suffices for a hint; the frames themselves are behind the lock.
        self.waiting.store(frames.len(), Ordering::Relaxed);
    }

    /// Appends the first frames to `burst`, as far as it has room.
    #[inline]
    fn take(&self, burst: &mut Burst) -> usize {
        if self.waiting.load(Ordering::Relaxed) == 0 { 0 } else { self.take_some(burst) }
    }

    fn take_some(&self, burst: &mut Burst) -> usize {
        let mut frames = self.frames.lock();
        let mut taken = 0;
        while !burst.is_full()
            && let Some(packet) = frames.pop_front()
        {
            // The burst has room, so the call succeeds.
            let _ = burst.push(packet);
            taken += 1;
        }
        self.waiting.store(frames.len(), Ordering::Relaxed);
        taken
    }
}

/// The access of a queue to the rings of all queues.
#[derive(Debug)]
pub(crate) struct Steering {
    own: usize,
    spread: Spread,
    rings: Arc<[Ring]>,
    /// Frames for each queue that are not in its ring yet. The bursts are empty between polls, and kept so
    /// that nothing has to be initialised.
    leaving: Box<[Burst]>,
    pool: Pool,
}

/// The decision about a frame.
#[derive(Debug)]
pub(crate) enum Steered {
    /// The frame belongs to this queue.
    Keep(Packet),
    /// The frame was received by another queue, and this queue only learns from it.
    Overhear(Packet),
    /// The frame was handed to another queue.
    HandedOn,
}

impl Steering {
    /// Creates the access for each queue.
    pub(crate) fn new(spread: Spread, pool: Pool) -> Vec<Self> {
        let rings: Arc<[Ring]> = (0..spread.queues()).map(|_| Ring::new()).collect();
        let leaving = || (0..spread.queues()).map(|_| Burst::new()).collect();
        (0..spread.queues())
            .map(|own| Self { own, spread, rings: rings.clone(), leaving: leaving(), pool })
            .collect()
    }

    /// Appends frames that other queues have handed over to `burst`, as far as it has room. Returns the
    /// number of appended frames.
    #[inline]
    pub(crate) fn take(&self, burst: &mut Burst) -> usize {
        self.rings[self.own].take(burst)
    }

    /// Decides about a frame that arrived here, or that another queue has `handed` over. At most one burst of
    /// frames may come between two [flushes](Self::flush).
    #[inline]
    pub(crate) fn steer(&mut self, packet: Packet, handed: bool) -> Steered {
        let queue = match self.spread.destination(packet.bytes()) {
            Destination::Queue(queue) => queue,
            Destination::First => 0,
            Destination::Here => self.own,
            Destination::All if handed => return Steered::Overhear(packet),
            Destination::All => {
                self.copy(&packet);
                self.own
            }
        };
        if queue == self.own || handed {
            return Steered::Keep(packet);
        }
        let pushed = self.leaving[queue].push(packet);
        debug_assert!(pushed.is_ok(), "a burst is not longer than a burst");
        Steered::HandedOn
    }

    /// Copies a frame for all other queues to overhear. A queue misses it if no buffer is free, or its ring
    /// is full; then this queue asks the neighbour itself.
    #[cold]
    fn copy(&mut self, packet: &Packet) {
        for queue in (0..self.leaving.len()).filter(|queue| *queue != self.own) {
            let Ok(mut copy) = self.pool.buffer(packet.bytes().len(), 0) else { return };
            copy.copy_from_slice(packet.bytes());
            if let Ok(mut copy) = Packet::from_buf(copy) {
                copy.copy_checksums(packet);
                let _ = self.leaving[queue].push(copy);
            }
        }
    }

    /// Puts frames into the rings of other queues. Returns the number of frames that were dropped because a
    /// ring was full.
    #[inline]
    pub(crate) fn flush(&mut self) -> u64 {
        let mut dropped = 0;
        for (ring, burst) in self.rings.iter().zip(&mut self.leaving) {
            if burst.is_empty() {
                continue;
            }
            ring.put(burst);
            while let Some(packet) = burst.pop() {
                // A copy does not count: its frame is not lost.
                dropped += u64::from(self.spread.destination(packet.bytes()) != Destination::All);
            }
        }
        dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use crate::open::open;

    /// Returns a datagram to `local_port`, as far as steering looks at it.
    fn datagram(pool: Pool, local_port: u16) -> Packet {
        let mut frame = pool.buffer(42, 0).unwrap();
        frame.fill(0);
        frame[12..14].copy_from_slice(&[8, 0]);
        frame[14] = 0x45;
        frame[17] = 28;
        frame[23] = 17;
        frame[36..38].copy_from_slice(&local_port.to_be_bytes());
        Packet::from_buf(frame).unwrap()
    }

    #[test]
    fn frames_that_a_full_ring_does_not_take_are_dropped_and_counted() {
        if !crate::AVAILABLE {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "DPDK must be installed in CI");
            return;
        }
        let config = Config { queues: 2, buffers: 8191, ..Config::new("net_null20", "10.0.0.1/24") };
        let port = open(&config).unwrap();
        let (pool, spread) = (port.handle.pool, port.handle.spread);
        let mut queues = Steering::new(spread, pool);
        let (mut kept, mut dropped, mut port) = (0, 0, 0);
        let before = pool.in_use();
        while dropped < 10 {
            for _ in 0..32 {
                let packet = datagram(pool, port);
                match queues[0].steer(packet, false) {
                    Steered::Keep(_) => kept += 1,
                    Steered::HandedOn => {}
                    Steered::Overhear(_) => panic!("no other queue has received it"),
                }
                port += 1;
            }
            dropped += queues[0].flush();
        }
        let (mut taken, mut burst) = (0, Burst::new());
        while queues[1].take(&mut burst) > 0 {
            while let Some(packet) = burst.pop() {
                assert!(matches!(queues[1].steer(packet, true), Steered::Keep(_)));
                taken += 1;
            }
        }
        assert_eq!((taken, kept + taken + dropped), (CAPACITY as u64, u64::from(port)));
        assert_eq!(pool.in_use(), before, "buffers were kept");
    }
}
