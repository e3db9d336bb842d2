//! The number of buffers of a receiving call.

use crate::window::WINDOW;

/// Largest number of buffers of a receiving call.
pub(crate) const MAX_WIDTH: usize = WINDOW;

/// The possible numbers of buffers. A single buffer serves messages that come alone: the kernel is not asked
/// for more, which would cost a call, and the reactor's knowledge that the socket may be readable.
const WIDTHS: [usize; 4] = [1, 2, 8, MAX_WIDTH];

/// Number of consecutive single messages, without the socket being found empty in between, after which a call
/// looks for a second message. The number doubles each time there was no second message.
const MIN_LOOK: u32 = 4;

/// Largest such number of messages.
const MAX_LOOK: u32 = 64;

/// The number of buffers of the next receiving call. It grows if all buffers were filled twice in a row, and
/// shrinks if most were not: single messages pay for a single buffer, a burst for few system calls.
#[derive(Debug)]
pub(super) struct ReceiveWidth {
    width: usize,
    /// True if the last call filled all its buffers.
    full: bool,
    /// Number of consecutive single messages.
    singles: u32,
    /// Number of single messages after which the next call looks for a second message.
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

    /// Records that a call with `width` buffers has filled `filled` of them.
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

    /// Records that a call found the socket empty: the messages before came one by one.
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
