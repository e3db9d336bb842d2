//! Where things lie in the shared memory.

use super::Word;

/// Words between two that different ends write to, so that they share no cache line and no pair of lines that is fetched at once.
const APART: usize = 16;

/// The words of one direction's control area.
const CONTROL: usize = 4 * APART;

/// The words before the data: a page, so that the data begin on one.
const PREFIX: usize = 512;

/// The smallest data area of a ring in bytes.
const SMALLEST: usize = 4 << 10;

/// The largest data area of a ring in bytes.
const LARGEST: usize = 64 << 20;

/// One of the two rings, by the end that writes messages into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the client to the server.
    FromClient,
    /// From the server to the client.
    FromServer,
}

/// The sizes of the two rings of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Words of data in each ring, a power of two.
    words: usize,
}

impl Layout {
    /// Rings with `bytes` for messages each. `None` unless that is a power of two from 4 KiB to 64 MiB.
    pub fn new(bytes: usize) -> Option<Self> {
        let fits = bytes.is_power_of_two() && (SMALLEST..=LARGEST).contains(&bytes);
        fits.then_some(Self { words: bytes / 8 })
    }

    /// The largest rings with at most `bytes` for messages each; the smallest that there are, if those are larger.
    pub fn at_most(bytes: usize) -> Self {
        let bytes = bytes.clamp(SMALLEST, LARGEST);
        Self { words: (1 << bytes.ilog2()) / 8 }
    }

    /// The bytes for messages in each ring.
    pub fn ring_bytes(self) -> usize {
        self.words * 8
    }

    /// The bytes of the whole memory.
    pub fn memory_bytes(self) -> usize {
        (PREFIX + 2 * self.words) * 8
    }

    /// The longest message in bytes: an eighth of a ring, less its header.
    pub fn longest(self) -> usize {
        self.ring_bytes() / 8 - 8
    }

    /// One of the rings in `memory`.
    ///
    /// # Panics
    /// If that is smaller than [`memory_bytes`](Self::memory_bytes).
    #[inline]
    pub fn ring<W>(self, memory: &[W], direction: Direction) -> Ring<'_, W> {
        let (prefix, data) = memory.split_at(PREFIX);
        let (from_client, from_server) = data[..2 * self.words].split_at(self.words);
        let (control, data) = match direction {
            Direction::FromClient => (&prefix[..CONTROL], from_client),
            Direction::FromServer => (&prefix[CONTROL..2 * CONTROL], from_server),
        };
        Ring {
            released: &control[0],
            asleep: &control[APART],
            wants_room: &control[2 * APART],
            ended: &control[3 * APART],
            data,
        }
    }
}

/// A ring, as both ends see it.
#[derive(Debug)]
pub struct Ring<'a, W> {
    /// How many words the consumer has received and given back. Written by the consumer.
    pub(super) released: &'a W,
    /// Whether the consumer has to be woken for the next message. Set by the consumer, and taken back by the producer.
    pub(super) asleep: &'a W,
    /// Whether the producer has to be woken when there is room. Set by the producer, and taken back by the consumer.
    pub(super) wants_room: &'a W,
    /// Whether the producer has closed the connection, and nothing more comes.
    pub(super) ended: &'a W,
    /// The messages; as many words as a power of two.
    pub(super) data: &'a [W],
}

impl<W> Clone for Ring<'_, W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W> Copy for Ring<'_, W> {}

impl<'a, W: Word> Ring<'a, W> {
    pub(super) fn capacity(&self) -> u64 {
        self.data.len() as u64
    }

    /// The word at a position.
    #[inline]
    pub(super) fn at(&self, position: u64) -> &'a W {
        &self.data[self.index(position)]
    }

    /// The words from the beginning up to a position, and those from there to the end, which come first.
    #[inline]
    pub(super) fn from(&self, position: u64) -> (&'a [W], &'a [W]) {
        self.data.split_at(self.index(position))
    }

    #[inline]
    fn index(&self, position: u64) -> usize {
        // The remainder fits, as it is less than a length.
        (position & (self.capacity() - 1)) as usize
    }
}
