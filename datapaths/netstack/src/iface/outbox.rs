//! Frames of the stack itself that wait to be sent: requests, replies and errors.

use std::collections::VecDeque;

/// Length of the longest such frame, in bytes: an ICMP error with the packet that it quotes.
pub(crate) const MAX_FRAME: usize = 192;

/// Largest number of waiting frames. A port that is polled sends them at once.
const CAPACITY: usize = 32;

/// A bounded queue of short frames. The queue allocates once.
#[derive(Debug)]
pub(crate) struct Outbox {
    frames: VecDeque<Frame>,
}

#[derive(Debug)]
struct Frame {
    bytes: [u8; MAX_FRAME],
    len: usize,
}

impl Outbox {
    pub(crate) fn new() -> Self {
        Self { frames: VecDeque::with_capacity(CAPACITY) }
    }

    /// Queues a frame, whose length `write` returns. Returns false if too many frames wait.
    pub(crate) fn push(&mut self, write: impl FnOnce(&mut [u8; MAX_FRAME]) -> usize) -> bool {
        if self.frames.len() >= CAPACITY {
            return false;
        }
        let mut frame = Frame { bytes: [0; MAX_FRAME], len: 0 };
        frame.len = write(&mut frame.bytes);
        self.frames.push_back(frame);
        true
    }

    /// Passes the first frame to `send`.
    pub(crate) fn pop<T>(&mut self, send: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let frame = self.frames.pop_front()?;
        Some(send(&frame.bytes[..frame.len]))
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }
}
