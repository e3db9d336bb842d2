//! A ring between two threads, by hand: messages of 64 bytes, and no protection against a hostile or dying
//! peer.

use std::array::from_fn;
use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Number of slots, a power of two.
const SLOTS: usize = 1024;

/// A message.
pub(super) type Words = [u64; 8];

/// The memory that both threads share.
struct Shared {
    slots: Vec<[AtomicU64; 8]>,
    /// Number of read messages.
    head: Apart,
    /// Number of written messages.
    tail: Apart,
}

/// A number on cache lines of its own.
#[repr(align(128))]
#[derive(Default)]
struct Apart(AtomicUsize);

/// The end that writes.
pub(super) struct Writer {
    shared: Arc<Shared>,
    at: usize,
    seen: usize,
}

/// The end that reads.
pub(super) struct Reader {
    shared: Arc<Shared>,
    at: usize,
    seen: usize,
}

/// Returns the two ends of a new ring.
pub(super) fn ring() -> (Writer, Reader) {
    let slots = (0..SLOTS).map(|_| Default::default()).collect();
    let shared = Arc::new(Shared { slots, head: Apart::default(), tail: Apart::default() });
    (Writer { shared: shared.clone(), at: 0, seen: 0 }, Reader { shared, at: 0, seen: 0 })
}

impl Writer {
    /// Writes a message; polls while the ring is full.
    pub(super) fn push(&mut self, message: Words) {
        while self.at - self.seen == SLOTS {
            // Acquire: the slot was read before it is written again.
            self.seen = self.shared.head.0.load(Ordering::Acquire);
            spin_loop();
        }
        for (word, value) in self.shared.slots[self.at % SLOTS].iter().zip(message) {
            word.store(value, Ordering::Relaxed);
        }
        self.at += 1;
        // Release: an end that sees the count sees the message.
        self.shared.tail.0.store(self.at, Ordering::Release);
    }
}

impl Reader {
    /// Reads the next message; polls until there is one.
    pub(super) fn pop(&mut self) -> Words {
        while self.seen == self.at {
            self.seen = self.shared.tail.0.load(Ordering::Acquire);
            spin_loop();
        }
        let slot = &self.shared.slots[self.at % SLOTS];
        let message = from_fn(|word| slot[word].load(Ordering::Relaxed));
        self.at += 1;
        self.shared.head.0.store(self.at, Ordering::Release);
        message
    }
}
