//! The size of the buffer that a message is encoded into.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The smallest buffer, in bytes. Pooled buffers are no smaller, so a better guess would save nothing.
const MIN_SIZE: usize = 256;

/// A connection's guess at the size of its next message.
///
/// The size of a message is known once it is encoded. So the guess follows the messages: twice the size of a message that did
/// not fit, then slowly down again while messages use less than half of it. With sizes that vary little no message is encoded
/// twice; with one large message in a hundred few are, and the small ones return to small buffers. Tasks that send at the same
/// time may overwrite each other's guess, which costs at most a second attempt.
#[derive(Debug)]
pub(crate) struct BufferSize {
    guess: AtomicUsize,
}

impl BufferSize {
    /// Returns the first guess, at most `max` bytes.
    pub(crate) fn new(max: usize) -> Self {
        Self { guess: AtomicUsize::new(MIN_SIZE.min(max)) }
    }

    /// Returns the size of the buffer for the next message.
    #[inline]
    pub(crate) fn guess(&self) -> usize {
        self.guess.load(Relaxed)
    }

    /// Takes in that a message used `written` bytes of a buffer of `size`.
    #[inline]
    pub(crate) fn on_fit(&self, written: usize, size: usize) {
        if size > MIN_SIZE {
            self.on_large_fit(written, size);
        }
    }

    #[inline(never)]
    fn on_large_fit(&self, written: usize, size: usize) {
        if written < size / 2 {
            self.guess.store((size - size / 64).max(MIN_SIZE), Relaxed);
        }
    }

    /// Returns the next size to try for a message that did not fit in `size` bytes; `None` after `max`.
    pub(crate) fn beyond(size: usize, max: usize) -> Option<usize> {
        // In large steps, so that all attempts together cost little more than the last.
        (size < max).then(|| size.saturating_mul(8).clamp(MIN_SIZE, max.max(MIN_SIZE)).min(max))
    }

    /// Takes in that a message used `written` bytes after it had not fitted in the guess.
    pub(crate) fn on_retry(&self, written: usize, max: usize) {
        self.guess.store(written.saturating_mul(2).clamp(MIN_SIZE.min(max), max), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: usize = 65_507;

    /// Returns the number of attempts that a message of `written` bytes takes.
    fn attempts(sizes: &BufferSize, written: usize) -> usize {
        let mut size = sizes.guess();
        if written <= size {
            sizes.on_fit(written, size);
            return 1;
        }
        let mut attempts = 1;
        while written > size {
            size = BufferSize::beyond(size, MAX).unwrap();
            attempts += 1;
        }
        sizes.on_retry(written, MAX);
        attempts
    }

    #[test]
    fn messages_of_one_size_are_encoded_once() {
        let sizes = BufferSize::new(MAX);
        attempts(&sizes, 1000);
        assert!((0..1000).all(|_| attempts(&sizes, 1000) == 1));
        assert!(sizes.guess() <= 2000);
    }

    #[test]
    fn a_large_message_is_forgotten_and_small_ones_use_small_buffers() {
        let sizes = BufferSize::new(MAX);
        attempts(&sizes, 60_000);
        assert_eq!(sizes.guess(), MAX);
        (0..1000).for_each(|_| assert_eq!(attempts(&sizes, 100), 1));
        assert_eq!(sizes.guess(), MIN_SIZE);
    }

    #[test]
    fn the_sizes_that_are_tried_end_at_the_maximum() {
        let mut tried = vec![MIN_SIZE];
        while let Some(size) = BufferSize::beyond(tried[tried.len() - 1], MAX) {
            tried.push(size);
        }
        assert_eq!(tried, [256, 2048, 16_384, MAX]);
        assert_eq!(BufferSize::beyond(100, 100), None);
        assert_eq!(BufferSize::beyond(0, 0), None);
    }

    #[test]
    fn no_guess_is_larger_than_the_maximum() {
        let sizes = BufferSize::new(100);
        assert_eq!(sizes.guess(), 100);
        sizes.on_retry(90, 100);
        assert_eq!(sizes.guess(), 100);
    }
}
