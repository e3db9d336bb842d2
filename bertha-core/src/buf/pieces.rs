//! Messages that came as one.

use super::Buf;
use super::raw::View;
use super::window::Window;
use std::fmt;
use std::mem::ManuallyDrop;

/// Messages of one length that lie behind each other, the last of which may be shorter: what
/// [`Buf::into_pieces`] makes. Each is cut off when it is asked for, and no sooner is it anything but a number here.
pub struct Pieces {
    /// The next piece, unless it is the last.
    next: View,
    /// There until it was taken.
    last: Option<Window>,
    /// The length of each but the last.
    len: usize,
    /// How many there are in front of the last. Each of them and the last is a counted window.
    full: usize,
}

impl Pieces {
    pub(super) fn of(whole: Buf, len: usize) -> Self {
        let whole = ManuallyDrop::new(whole);
        let window = whole.view.window;
        if len == 0 || window.len() <= len {
            return Self { next: whole.view.counted(window), last: Some(window), len, full: 0 };
        }
        let full = (window.len() - 1) / len;
        // A storage has less than 128 MiB, and so has no more pieces than that.
        whole.view.count_more(full as u32);
        let last = Some(window.behind(full * len));
        Self { next: whole.view.counted(window.first(len).without_room()), last, len, full }
    }

    /// Takes the first `count` away, of more.
    #[must_use]
    pub fn split_first(&mut self, count: usize) -> Self {
        let count = count.min(self.full);
        let last = count.checked_sub(1).map(|before| self.window_after(before));
        let next = self.next.counted(self.next.window);
        self.next.window = self.window_after(count);
        self.full -= count;
        Self { next, last, len: self.len, full: count.saturating_sub(1) }
    }

    /// The window of the piece that comes after `n` others.
    fn window_after(&self, n: usize) -> Window {
        if n == 0 { self.next.window } else { self.next.window.shifted(n * self.len) }
    }
}

impl Iterator for Pieces {
    type Item = Buf;

    #[inline]
    fn next(&mut self) -> Option<Buf> {
        let window = if self.full == 0 {
            self.last.take()?
        } else {
            self.full -= 1;
            let window = self.next.window;
            self.next.window = window.shifted(self.len);
            window
        };
        Some(Buf { view: self.next.counted(window) })
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
            self.next.release(left as u32);
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
