//! Messages that lie in one buffer.

use super::Buf;
use super::view::View;
use super::window::Window;
use std::fmt;
use std::mem::ManuallyDrop;

/// Messages of one length that lie behind each other, the last of which may be shorter: made by
/// [`Buf::into_segments`]. Each message is cut off when the iterator reaches it.
pub struct Segments {
    /// The next segment; unused if only the last segment is left.
    next: View,
    /// The last segment, until it is taken.
    last: Option<Window>,
    /// The length of each segment but the last.
    len: usize,
    /// The number of segments in front of the last segment. Each of them, and the last segment, is a counted
    /// window.
    full: usize,
}

impl Buf {
    /// Cuts the message into messages of `len` bytes each, the last of which may be shorter, without a copy.
    /// The result is as if [`split_to`](Self::split_to) had been called for each segment, but all segments are
    /// counted at once, and the first segment has no headroom. A `len` of zero, or of at least the message's
    /// length, gives the message as it is.
    pub fn into_segments(self, len: usize) -> Segments {
        let whole = ManuallyDrop::new(self);
        let window = whole.view.window();
        if len == 0 || window.len() <= len {
            // SAFETY: `whole`, which is forgotten, was counted for this window.
            let next = unsafe { whole.view.counted(window) };
            return Segments { next, last: Some(window), len, full: 0 };
        }
        let full = (window.len() - 1) / len;
        // A storage has less than 128 MiB, so the number of segments fits in 32 bits.
        whole.view.count_more(full as u32);
        let last = Some(window.behind(full * len));
        // SAFETY: `full` windows are counted above, and one for `whole`, which is forgotten. They part its bytes among
        // them: `full` of `len` bytes each, and the rest, which is at least one.
        let next = unsafe { whole.view.counted(window.first(len).without_headroom()) };
        Segments { next, last, len, full }
    }
}

impl Segments {
    /// Splits off the first `count` segments, but never the last segment of all.
    #[must_use]
    pub fn split_first(&mut self, count: usize) -> Self {
        let count = count.min(self.full);
        let last = count.checked_sub(1).map(|before| self.window_after(before));
        // SAFETY: the view stands for `count` of the counted windows, which are no longer counted for `self`
        // below; if `count` is zero, the view is neither used nor released.
        let next = unsafe { self.next.counted(self.next.window()) };
        self.skip_windows(count);
        Self { next, last, len: self.len, full: count.saturating_sub(1) }
    }

    /// Returns the window of the segment that follows the next `n` segments.
    fn window_after(&self, n: usize) -> Window {
        let window = self.next.window();
        if n == 0 { window } else { window.shifted(n * self.len) }
    }

    /// Skips the next `n` windows, which belong to the caller from now on. At least `n` full segments are left.
    #[inline]
    fn skip_windows(&mut self, n: usize) {
        let window = self.window_after(n);
        self.full -= n;
        // SAFETY: the windows from `n` on are still counted for `self`. Behind the last full one this is a window that is
        // only the base of the last, and its bytes are not used.
        self.next = unsafe { self.next.counted(window) };
    }
}

impl Iterator for Segments {
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
        // SAFETY: the window is counted, and was taken from the windows of `self` above. It overlaps with no other window.
        Some(Buf { view: unsafe { self.next.counted(window) } })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.full + usize::from(self.last.is_some());
        (left, Some(left))
    }
}

impl ExactSizeIterator for Segments {}

impl Drop for Segments {
    #[inline]
    fn drop(&mut self) {
        let left = ExactSizeIterator::len(self);
        if left > 0 {
            // SAFETY: each segment that is left is a counted window of this storage, and `self` is not used any more.
            unsafe { self.next.release(left as u32) };
        }
    }
}

impl fmt::Debug for Segments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Segments")
            .field("len", &self.len)
            .field("left", &ExactSizeIterator::len(self))
            .finish_non_exhaustive()
    }
}
