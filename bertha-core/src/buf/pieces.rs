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
    last: Window,
    /// The length of each but the last.
    len: usize,
    /// How many there are. Each is a counted window.
    left: usize,
}

impl Pieces {
    pub(super) fn of(whole: Buf, len: usize) -> Self {
        let whole = ManuallyDrop::new(whole);
        let window = whole.view.window;
        if len == 0 || window.len() <= len {
            return Self { next: whole.view.counted(window), last: window, len, left: 1 };
        }
        let left = window.len().div_ceil(len);
        // A storage has less than 128 MiB, and so has no more pieces than that.
        whole.view.count_more(left as u32 - 1);
        let last = window.behind((left - 1) * len);
        Self { next: whole.view.counted(window.first(len)), last, len, left }
    }

    /// Takes the first `count` away, of more.
    #[must_use]
    pub fn split_first(&mut self, count: usize) -> Self {
        let count = count.min(self.left);
        let last = if count > 0 { self.window_after(count - 1) } else { self.last };
        let first = Self { next: self.next.counted(self.next.window), last, len: self.len, left: count };
        self.next.window = self.window_after(count);
        self.left -= count;
        first
    }

    /// The window of the piece that comes after `n` others.
    fn window_after(&self, n: usize) -> Window {
        match n {
            _ if n + 1 >= self.left => self.last,
            0 => self.next.window,
            _ => self.next.window.shifted(n * self.len),
        }
    }
}

impl Iterator for Pieces {
    type Item = Buf;

    #[inline]
    fn next(&mut self) -> Option<Buf> {
        let window = match self.left {
            0 => return None,
            1 => self.last,
            _ => {
                let window = self.next.window;
                self.next.window = window.shifted(self.len);
                window
            }
        };
        self.left -= 1;
        Some(Buf { view: self.next.counted(window) })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Pieces {}

impl Drop for Pieces {
    #[inline]
    fn drop(&mut self) {
        if self.left > 0 {
            self.next.release(self.left as u32);
        }
    }
}

impl fmt::Debug for Pieces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pieces").field("len", &self.len).field("left", &self.left).finish_non_exhaustive()
    }
}
