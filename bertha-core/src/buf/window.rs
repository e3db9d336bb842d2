//! The part of its storage that a buffer may touch, in 64 bits.
//!
//! ```text
//!  63         55     54    27            0
//! |  headroom  | last | length |  start  |
//! ```
//!
//! The fields are packed into two registers, since every layer that awaits moves a buffer once or twice.

/// The number of bits of a start or a length.
const BITS: u32 = 27;

const MASK: u64 = (1 << BITS) - 1;

/// Set if all bytes behind the window, up to the end of the storage, belong to it.
const LAST: u64 = 1 << (2 * BITS);

/// The place of the headroom.
const HEADROOM: u32 = 2 * BITS + 1;

/// The largest storage in bytes.
pub(super) const MAX_STORAGE: usize = MASK as usize;

/// The largest headroom in bytes.
pub(super) const MAX_HEADROOM: usize = (1 << (64 - HEADROOM)) - 1;

/// A window into a storage. `headroom` is at most `start`, and `start + length` is at most the length of the
/// storage, which is at most [`MAX_STORAGE`]; so no field ever overflows into the next field. Windows into
/// one storage, with their rooms, don't overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window(u64);

impl Window {
    /// A window without bytes.
    pub(super) const NOTHING: Self = Self(0);

    /// Makes a window of `len` bytes from `start` on. Headroom beyond [`MAX_HEADROOM`] is given up.
    #[inline]
    pub(super) fn new(start: usize, len: usize, headroom: usize, is_last: bool) -> Self {
        debug_assert!(headroom <= start && start + len <= MAX_STORAGE);
        let last = if is_last { LAST } else { 0 };
        Self((headroom.min(MAX_HEADROOM) as u64) << HEADROOM | last | (len as u64) << BITS | start as u64)
    }

    #[inline]
    pub(super) fn start(self) -> usize {
        (self.0 & MASK) as usize
    }

    #[inline]
    pub(super) fn len(self) -> usize {
        (self.0 >> BITS & MASK) as usize
    }

    #[inline]
    pub(super) fn end(self) -> usize {
        self.start() + self.len()
    }

    #[inline]
    pub(super) fn is_last(self) -> bool {
        self.0 & LAST != 0
    }

    #[inline]
    pub(super) fn headroom(self) -> usize {
        (self.0 >> HEADROOM) as usize
    }

    /// Moves `n` bytes of headroom into the message. The headroom has at least `n` bytes.
    #[inline]
    pub(super) fn back(self, n: usize) -> Self {
        debug_assert!(n <= self.headroom());
        let n = n as u64;
        Self(self.0.wrapping_add((n << BITS).wrapping_sub(n << HEADROOM).wrapping_sub(n)))
    }

    /// Moves the first `n` bytes of the message to the headroom. The message has at least `n` bytes.
    #[inline]
    pub(super) fn forward(self, n: usize) -> Self {
        debug_assert!(n <= self.len());
        // The result is a sum, so that the compiler omits the headroom's part where it is not used.
        let room = n.min(MAX_HEADROOM - self.headroom()) as u64;
        let n = n as u64;
        Self(self.0.wrapping_add((room << HEADROOM).wrapping_sub(n << BITS).wrapping_add(n)))
    }

    /// Returns the window of the first `n` bytes, behind which another window of the storage lies. The
    /// message has at least `n` bytes.
    #[inline]
    pub(super) fn first(self, n: usize) -> Self {
        Self(self.0 & !LAST).with_len(n)
    }

    /// Returns the window behind the first `n` bytes, which belong to another window. The message has at
    /// least `n` bytes.
    #[inline]
    pub(super) fn behind(self, n: usize) -> Self {
        Self((self.0 & ((1 << HEADROOM) - 1)).wrapping_sub((n as u64) << BITS).wrapping_add(n as u64))
    }

    /// Returns the window without headroom.
    #[inline]
    pub(super) fn without_headroom(self) -> Self {
        Self(self.0 & ((1 << HEADROOM) - 1))
    }

    /// Returns a window of the same length that begins `n` bytes later. This window has no headroom, and the
    /// storage is long enough.
    #[inline]
    pub(super) fn shifted(self, n: usize) -> Self {
        debug_assert!(self.headroom() == 0);
        Self(self.0 + n as u64)
    }

    /// Returns the window without its last `n` bytes. The message has at least `n` bytes.
    #[inline]
    pub(super) fn without_last(self, n: usize) -> Self {
        debug_assert!(n <= self.len());
        Self(self.0 - ((n as u64) << BITS))
    }

    /// Returns the window with another length; the storage is long enough.
    #[inline]
    pub(super) fn with_len(self, len: usize) -> Self {
        Self(self.0 & !(MASK << BITS) | (len as u64) << BITS)
    }

    /// Cuts the window after `n` bytes: returns the window in front of the cut and the window behind it. The
    /// message has at least `n` bytes.
    #[inline]
    pub(super) fn split(self, n: usize) -> (Self, Self) {
        debug_assert!(n <= self.len());
        (self.first(n), self.behind(n))
    }
}
