//! Frames of the stack's own that wait to be sent.

use std::collections::VecDeque;

/// The longest such frame: an ICMP error with what it quotes.
pub(crate) const LONGEST: usize = 192;

/// How many wait at most. A port that is polled sends them at once.
const MOST: usize = 32;

/// A bounded queue of short frames. Allocates once.
#[derive(Debug)]
pub(crate) struct Outbox {
    frames: VecDeque<([u8; LONGEST], usize)>,
}

impl Outbox {
    pub(crate) fn new() -> Self {
        Self { frames: VecDeque::with_capacity(MOST) }
    }

    /// Queues the frame that `write` writes and tells the length of, which is at most [`LONGEST`]; false if too many wait.
    pub(crate) fn push(&mut self, write: impl FnOnce(&mut [u8; LONGEST]) -> usize) -> bool {
        if self.frames.len() >= MOST {
            return false;
        }
        let mut frame = [0; LONGEST];
        let len = write(&mut frame);
        self.frames.push_back((frame, len));
        true
    }

    /// Hands the first frame to `send`.
    pub(crate) fn pop<T>(&mut self, send: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let (frame, len) = self.frames.pop_front()?;
        Some(send(&frame[..len]))
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }
}
