//! Which part of its storage a buffer may touch, in 64 bits.
//!
//! ```text
//!  63         53     52    26            0
//! |  headroom  | last | length |  start  |
//! ```
//!
//! Packed, since every layer that awaits moves a buffer once or twice, and two registers are quickly moved.

/// How many bits a start or a length takes.
const BITS: u32 = 26;

const MASK: u64 = (1 << BITS) - 1;

/// All behind the window, up to the end of the storage, belongs to it.
const LAST: u64 = 1 << (2 * BITS);

/// Where the headroom stands.
const ROOM: u32 = 2 * BITS + 1;

/// The largest storage in bytes.
pub(super) const MOST: usize = MASK as usize;

/// The largest headroom in bytes.
pub(super) const MOST_ROOM: usize = (1 << (64 - ROOM)) - 1;

/// `headroom` is at most `start`, and `start + length` at most the length of the storage, which is at most [`MOST`]; so
/// no field ever overflows into the next. Windows into one storage, with their rooms, don't overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window(u64);

impl Window {
    /// `len` bytes from `start` on. Of its headroom, what is beyond [`MOST_ROOM`] is given up.
    #[inline]
    pub(super) fn new(start: usize, len: usize, headroom: usize, is_last: bool) -> Self {
        debug_assert!(headroom <= start && start + len <= MOST);
        let last = if is_last { LAST } else { 0 };
        Self((headroom.min(MOST_ROOM) as u64) << ROOM | last | (len as u64) << BITS | start as u64)
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
        (self.0 >> ROOM) as usize
    }

    /// Takes `n` bytes of headroom into the message; they are there.
    #[inline]
    pub(super) fn back(self, n: usize) -> Self {
        debug_assert!(n <= self.headroom());
        let n = n as u64;
        Self(self.0.wrapping_add((n << BITS).wrapping_sub(n << ROOM).wrapping_sub(n)))
    }

    /// Gives the first `n` bytes to the headroom; they are there.
    #[inline]
    pub(super) fn forward(self, n: usize) -> Self {
        debug_assert!(n <= self.len());
        let room = n.min(MOST_ROOM - self.headroom()) as u64;
        let n = n as u64;
        Self(self.0.wrapping_add((room << ROOM).wrapping_sub(n << BITS).wrapping_add(n)))
    }

    /// With another length; the storage is long enough.
    #[inline]
    pub(super) fn with_len(self, len: usize) -> Self {
        Self(self.0 & !(MASK << BITS) | (len as u64) << BITS)
    }

    /// Cut after `n` bytes, of at least so many: what is in front of the cut and what is behind.
    #[inline]
    pub(super) fn split(self, n: usize) -> (Self, Self) {
        debug_assert!(n <= self.len());
        let len = (n as u64) << BITS;
        let in_front = self.0 & !(LAST | MASK << BITS) | len;
        let behind = (self.0 & ((1 << ROOM) - 1)).wrapping_sub(len).wrapping_add(n as u64);
        (Self(in_front), Self(behind))
    }

    /// The reverse of [`split`](Self::split), for `behind` that begins where this ends: both as one, and the empty
    /// window behind them.
    #[inline]
    pub(super) fn join(self, behind: Self) -> (Self, Self) {
        debug_assert!(self.end() == behind.start());
        (Self(self.0 + (behind.0 & MASK << BITS)), Self((behind.0 & LAST) | behind.end() as u64))
    }
}
