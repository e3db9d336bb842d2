//! How many buffers a receiving call uses.

use crate::window::WINDOW;

/// The most buffers of one receiving call.
pub(crate) const MAX_WIDTH: usize = WINDOW;

/// The numbers of buffers that there are. One for messages that come alone: the kernel is not asked whether there are more,
/// which would cost a call, and the reactor's knowledge that there may be.
const WIDTHS: [usize; 4] = [1, 2, 8, MAX_WIDTH];

/// After so many single messages in a row, between which the socket was never empty, one call looks whether a second is there;
/// and after twice as many each time there was none.
const MIN_LOOK: u32 = 4;

/// The longest such interval.
const MAX_LOOK: u32 = 64;

/// The number of buffers of the next receiving call. It gets larger if all were filled twice in a row, and smaller if most were
/// not: single messages pay for one buffer, a burst for few system calls.
#[derive(Debug)]
pub(super) struct ReceiveWidth {
    width: usize,
    /// The last call filled all its buffers.
    full: bool,
    /// Single messages in a row.
    singles: u32,
    /// After so many of them it looks for a second.
    look: u32,
}

impl Default for ReceiveWidth {
    fn default() -> Self {
        Self { width: WIDTHS[0], full: false, singles: 0, look: MIN_LOOK }
    }
}

impl ReceiveWidth {
    #[inline]
    pub(super) fn get(&self) -> usize {
        self.width
    }

    /// A call with `width` buffers has filled some of them.
    #[inline]
    pub(super) fn on_received(&mut self, width: usize, filled: usize) {
        if width == 1 {
            self.singles += 1;
            if self.singles >= self.look {
                self.width = WIDTHS[1];
            }
        } else {
            self.on_several(width, filled);
        }
    }

    fn on_several(&mut self, width: usize, filled: usize) {
        let full = filled == width;
        if full {
            self.look = MIN_LOOK;
        }
        if full && self.full {
            self.width = WIDTHS.into_iter().find(|&wider| wider > width).unwrap_or(width);
        } else if filled > 0 && (filled * 4 < width || filled == 1) {
            self.width = WIDTHS.into_iter().rev().find(|&narrower| narrower < width).unwrap_or(width);
            if self.width == 1 {
                self.look = (2 * self.look).min(MAX_LOOK);
            }
            self.singles = 0;
        }
        self.full = full;
    }

    /// A call has found nothing: the messages before came one by one.
    #[inline]
    pub(super) fn on_nothing(&mut self) {
        self.singles = 0;
        if self.width == WIDTHS[1] {
            self.width = WIDTHS[0];
        }
        self.full = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_widen_the_call_and_single_messages_narrow_it() {
        let mut width = ReceiveWidth::default();
        for _ in 0..MIN_LOOK {
            assert_eq!(width.get(), 1);
            width.on_received(1, 1);
        }
        assert_eq!(width.get(), 2);
        width.on_received(2, 2);
        width.on_received(2, 2);
        assert_eq!(width.get(), 8);
        width.on_received(8, 8);
        assert_eq!(width.get(), MAX_WIDTH);
        width.on_received(MAX_WIDTH, 1);
        width.on_received(8, 1);
        assert_eq!(width.get(), 2);
        width.on_received(2, 1);
        assert_eq!(width.get(), 1);
    }

    #[test]
    fn single_messages_are_looked_behind_ever_more_rarely_and_never_if_the_socket_was_empty() {
        let mut width = ReceiveWidth::default();
        let mut looks = 0;
        for _ in 0..10_000 {
            looks += u32::from(width.get() > 1);
            width.on_received(width.get(), 1);
        }
        assert!((150..170).contains(&looks), "{looks}");
        let mut width = ReceiveWidth::default();
        for _ in 0..10_000 {
            assert_eq!(width.get(), 1);
            width.on_received(1, 1);
            width.on_nothing();
        }
    }
}
