//! How large a buffer to ask for before a message is encoded.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The smallest size that is asked for, in bytes. Below it, guessing better would save nothing: pooled buffers are
/// not smaller.
const SMALLEST: usize = 256;

/// A connection's guess at the size of its next message.
///
/// Serde can't tell a message's size without encoding it. So the guess follows the messages: twice the size of one
/// that did not fit, then slowly down again as long as messages use less than half of it. Where sizes vary little no
/// message is encoded twice; where one in a hundred is large, few are, and the small ones don't occupy large buffers
/// for ever. Tasks that send at the same time may overwrite each other's guess, which costs at most a second attempt.
#[derive(Debug)]
pub(super) struct BufferSize {
    guess: AtomicUsize,
}

impl BufferSize {
    /// A first guess. No buffer may be larger than `most` bytes.
    pub(super) fn new(most: usize) -> Self {
        Self { guess: AtomicUsize::new(SMALLEST.min(most)) }
    }

    /// What to ask for.
    #[inline]
    pub(super) fn guess(&self) -> usize {
        self.guess.load(Relaxed)
    }

    /// A message took `written` bytes of a buffer of `size`.
    #[inline]
    pub(super) fn fitted(&self, written: usize, size: usize) {
        if size > SMALLEST {
            self.fitted_in_more(written, size);
        }
    }

    #[inline(never)]
    fn fitted_in_more(&self, written: usize, size: usize) {
        if written < size / 2 {
            self.guess.store((size - size / 64).max(SMALLEST), Relaxed);
        }
    }

    /// The next size to try after a message did not fit in `size` bytes, up to `most`; `None` if that was all.
    pub(super) fn beyond(size: usize, most: usize) -> Option<usize> {
        // In large steps, so that the attempts together cost little more than the last.
        (size < most).then(|| size.saturating_mul(8).clamp(SMALLEST, most.max(SMALLEST)).min(most))
    }

    /// A message took `written` bytes after it had not fitted in what was guessed.
    pub(super) fn found(&self, written: usize, most: usize) {
        self.guess.store(written.saturating_mul(2).clamp(SMALLEST.min(most), most), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = 65_507;

    /// How many attempts a message of `written` bytes takes.
    fn attempts(sizes: &BufferSize, written: usize) -> usize {
        let mut size = sizes.guess();
        if written <= size {
            sizes.fitted(written, size);
            return 1;
        }
        let mut attempts = 1;
        while written > size {
            size = BufferSize::beyond(size, MOST).unwrap();
            attempts += 1;
        }
        sizes.found(written, MOST);
        attempts
    }

    #[test]
    fn messages_of_one_size_are_encoded_once() {
        let sizes = BufferSize::new(MOST);
        attempts(&sizes, 1000);
        assert!((0..1000).all(|_| attempts(&sizes, 1000) == 1));
        assert!(sizes.guess() <= 2000);
    }

    #[test]
    fn a_large_message_is_forgotten_and_small_ones_use_small_buffers() {
        let sizes = BufferSize::new(MOST);
        attempts(&sizes, 60_000);
        assert_eq!(sizes.guess(), MOST);
        (0..1000).for_each(|_| assert_eq!(attempts(&sizes, 100), 1));
        assert_eq!(sizes.guess(), SMALLEST);
    }

    #[test]
    fn the_sizes_that_are_tried_end_at_the_most() {
        let mut tried = vec![SMALLEST];
        while let Some(size) = BufferSize::beyond(tried[tried.len() - 1], MOST) {
            tried.push(size);
        }
        assert_eq!(tried, [256, 2048, 16_384, MOST]);
        assert_eq!(BufferSize::beyond(100, 100), None);
        assert_eq!(BufferSize::beyond(0, 0), None);
    }

    #[test]
    fn no_guess_is_larger_than_the_most() {
        let sizes = BufferSize::new(100);
        assert_eq!(sizes.guess(), 100);
        sizes.found(90, 100);
        assert_eq!(sizes.guess(), 100);
    }
}
