//! Messages that came as one.

use super::Buf;
use super::view::View;
use super::window::Window;
use std::fmt;
use std::mem::ManuallyDrop;

/// Messages of one length that lie behind each other, the last of which may be shorter: made by
/// [`Buf::into_pieces`]. Each is cut off when the iterator reaches it.
pub struct Pieces {
    /// The next piece, unless it is the last.
    next: View,
    /// There until it was taken.
    last: Option<Window>,
    /// The length of each but the last.
    len: usize,
    /// The number of pieces in front of the last. Each of them, and the last, is a counted window.
    full: usize,
}

impl Buf {
    /// Cuts the message into messages of `len` bytes each, of which the last may be shorter, without a copy: as
    /// [`split_to`](Self::split_to) would, but counted once for all of them, and without headroom in front of the first.
    /// The whole, as it is, if there is only one, and if `len` is zero.
    pub fn into_pieces(self, len: usize) -> Pieces {
        let whole = ManuallyDrop::new(self);
        let window = whole.view.window();
        if len == 0 || window.len() <= len {
            // SAFETY: `whole`, which is forgotten, was counted for this window.
            let next = unsafe { whole.view.counted(window) };
            return Pieces { next, last: Some(window), len, full: 0 };
        }
        let full = (window.len() - 1) / len;
        // A storage has less than 128 MiB, and so has no more pieces than that.
        whole.view.count_more(full as u32);
        let last = Some(window.behind(full * len));
        // SAFETY: `full` windows are counted above, and one for `whole`, which is forgotten. They part its bytes among
        // them: `full` of `len` bytes each, and the rest, which is at least one.
        let next = unsafe { whole.view.counted(window.first(len).without_headroom()) };
        Pieces { next, last, len, full }
    }
}

impl Pieces {
    /// Splits off the first `count` pieces, or all but the last if there are no more.
    #[must_use]
    pub fn split_first(&mut self, count: usize) -> Self {
        let count = count.min(self.full);
        let last = count.checked_sub(1).map(|before| self.window_after(before));
        // SAFETY: it stands for `count` of the counted windows, which are no longer among those of `self` below; if there
        // are none, it is neither used nor released.
        let next = unsafe { self.next.counted(self.next.window()) };
        self.skip_windows(count);
        Self { next, last, len: self.len, full: count.saturating_sub(1) }
    }

    /// The window of the piece that comes after `n` others.
    fn window_after(&self, n: usize) -> Window {
        let window = self.next.window();
        if n == 0 { window } else { window.shifted(n * self.len) }
    }

    /// Leaves the next `n` windows, of at least as many full ones, to the caller.
    #[inline]
    fn skip_windows(&mut self, n: usize) {
        let window = self.window_after(n);
        self.full -= n;
        // SAFETY: the windows from `n` on are still counted for `self`. Behind the last full one this is a window that is
        // only the base of the last, and its bytes are not used.
        self.next = unsafe { self.next.counted(window) };
    }
}

impl Iterator for Pieces {
    type Item = Buf;

    #[inline]
    fn next(&mut self) -> Option<Buf> {
        let window = if self.full == 0 {
            self.last.take()?
        } else {
            let window = self.next.window();
            self.full -= 1;
            // SAFETY: as in `skip_windows`.
            self.next = unsafe { self.next.counted(window.shifted(self.len)) };
            window
        };
        // SAFETY: one of the counted windows, which was taken from those of `self` above. It overlaps with no other.
        Some(Buf { view: unsafe { self.next.counted(window) } })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.full + usize::from(self.last.is_some());
        (left, Some(left))
    }
}

impl ExactSizeIterator for Pieces {}

impl Drop for Pieces {
    #[inline]
    fn drop(&mut self) {
        let left = ExactSizeIterator::len(self);
        if left > 0 {
            // SAFETY: each piece that is left is a counted window of this storage, and `self` is not used any more.
            unsafe { self.next.release(left as u32) };
        }
    }
}

impl fmt::Debug for Pieces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pieces")
            .field("len", &self.len)
            .field("left", &ExactSizeIterator::len(self))
            .finish_non_exhaustive()
    }
}
