//! The layout of the shared memory.

use super::Word;

/// Spacing in words between fields written by different processes: 128 bytes, so that the fields share
/// neither a cache line nor a prefetched pair of lines.
const APART: usize = 16;

/// Number of words in the control area of a direction.
const CONTROL: usize = 4 * APART;

/// Number of words before the data: a page, so that the data begin at a page.
const PREFIX: usize = 512;

/// Number of words beside each ring.
const BESIDE: usize = (PREFIX - 2 * CONTROL) / 2;

/// Size of the smallest data area of a ring in bytes.
const SMALLEST: usize = 4 << 10;

/// Size of the largest data area of a ring in bytes.
const LARGEST: usize = 64 << 20;

/// One of the two rings, named after the end that writes messages into it.
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
    /// Number of words of data in each ring, a power of two.
    words: usize,
}

impl Layout {
    /// Spacing in words between fields that different processes write: words nearer to each other take cache lines away from each other.
    pub const APART: usize = APART;

    /// Creates the layout of rings with `bytes` for messages each. Returns `None` unless this is a power of
    /// two from 4 KiB to 64 MiB.
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

    /// Returns the number of bytes of the whole memory.
    pub fn memory_bytes(self) -> usize {
        (PREFIX + 2 * self.words) * 8
    }

    /// Returns the length of the longest message in bytes: an eighth of a ring, less its header.
    pub fn longest(self) -> usize {
        self.ring_bytes() / 8 - 8
    }

    /// Returns one of the rings in `memory`.
    ///
    /// # Panics
    /// Panics if `memory` is smaller than [`memory_bytes`](Self::memory_bytes).
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

impl Layout {
    /// Returns the bytes of the memory before the words of a direction [beside](Self::beside) its ring.
    pub fn beside_bytes(self, direction: Direction) -> u64 {
        let words = match direction {
            Direction::FromClient => 2 * CONTROL,
            Direction::FromServer => 2 * CONTROL + BESIDE,
        };
        8 * words as u64
    }

    /// Returns the words of a direction beside its ring, in which protocols over the rings keep what both ends know. The ring
    /// leaves them alone.
    ///
    /// # Panics
    /// Panics if `memory` is smaller than [`memory_bytes`](Self::memory_bytes).
    #[inline]
    pub fn beside<W>(self, memory: &[W], direction: Direction) -> &[W] {
        let (from_client, from_server) = memory[2 * CONTROL..PREFIX].split_at(BESIDE);
        match direction {
            Direction::FromClient => from_client,
            Direction::FromServer => from_server,
        }
    }
}

/// A ring, as both ends see it.
#[derive(Debug)]
pub struct Ring<'a, W> {
    /// Number of words that the consumer has received and released. The consumer writes it.
    pub(super) released: &'a W,
    /// True if the consumer has to be woken for the next message. The consumer sets the flag, and the
    /// producer takes it back.
    pub(super) asleep: &'a W,
    /// True if the producer has to be woken when there is room. The producer sets the flag, and the consumer
    /// takes it back.
    pub(super) wants_room: &'a W,
    /// True if the producer has closed the connection, and no more messages come.
    pub(super) ended: &'a W,
    /// The messages; the number of words is a power of two.
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

    /// Returns the word at a position.
    #[inline]
    pub(super) fn at(&self, position: u64) -> &'a W {
        &self.data[self.index(position)]
    }

    /// Returns the words from the beginning up to a position, and the words from the position to the end,
    /// which come first.
    #[inline]
    pub(super) fn from(&self, position: u64) -> (&'a [W], &'a [W]) {
        self.data.split_at(self.index(position))
    }

    #[inline]
    fn index(&self, position: u64) -> usize {
        // The conversion is exact, as the remainder is less than a length.
        (position & (self.capacity() - 1)) as usize
    }
}
