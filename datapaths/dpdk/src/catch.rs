//! Messages for whoever polls.

use crate::demux::Demux;
use bertha_core::Buf;
use bertha_netstack::Prediction;
use std::mem::MaybeUninit;

/// How many messages are received at once at most.
pub(crate) const AT_ONCE: usize = 32;

/// What one poll brings the connection that polls: its own messages come here directly, past its queue. Holds them without an
/// allocation, and hands them out in order.
pub(crate) struct Catch<'a> {
    connection: usize,
    /// How its datagrams are known; nothing if all messages take the way through the queue.
    prediction: Option<&'a Prediction>,
    /// Those from `first` to `end` are messages.
    messages: [MaybeUninit<Buf>; AT_ONCE],
    first: usize,
    end: usize,
    /// How many are wanted.
    limit: usize,
}

impl<'a> Catch<'a> {
    /// At most `limit` of the messages of `connection`, which `prediction` knows.
    #[inline]
    pub(crate) fn new(connection: usize, prediction: Option<&'a Prediction>, limit: usize) -> Self {
        let messages = [const { MaybeUninit::uninit() }; AT_ONCE];
        Self { connection, prediction, messages, first: 0, end: 0, limit: limit.min(AT_ONCE) }
    }

    /// For who waits for something else.
    #[inline]
    pub(crate) fn nothing() -> Self {
        Self::new(0, None, 0)
    }

    /// How to know what may be [put](Self::put) here; nothing if no more is wanted.
    #[inline]
    pub(crate) fn wanted(&self) -> Option<&'a Prediction> {
        self.prediction.filter(|_| self.end < self.limit)
    }

    /// Has what comes from here on take the way through the connection's queue if something is there, which came before it.
    #[inline]
    pub(crate) fn line_up(&mut self, demux: &mut Demux) {
        if self.wanted().is_some() && !demux.queue(self.connection).is_empty() {
            self.limit = self.end;
        }
    }

    /// Appends a message, if there is room.
    #[inline]
    pub(crate) fn put(&mut self, message: Buf) {
        debug_assert!(self.end < AT_ONCE);
        if let Some(place) = self.messages.get_mut(self.end) {
            place.write(message);
            self.end += 1;
        }
    }

    /// Appends the first messages of the connection's queue, up to `limit` and [`AT_ONCE`] in all.
    #[inline]
    pub(crate) fn fill(&mut self, demux: &mut Demux, limit: usize) {
        let queue = demux.queue(self.connection);
        if !queue.is_empty() {
            let count = queue.len().min(limit.min(AT_ONCE).saturating_sub(self.end));
            queue.drain(..count).for_each(|message| self.put(message));
        }
    }

    /// How many messages there are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.end - self.first
    }
}

impl Iterator for Catch<'_> {
    type Item = Buf;

    #[inline]
    fn next(&mut self) -> Option<Buf> {
        if self.first == self.end {
            return None;
        }
        // SAFETY: places between `first` and `end` were written, and each is read once: `first` only grows.
        let message = unsafe { self.messages[self.first].assume_init_read() };
        self.first += 1;
        Some(message)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len(), Some(self.len()))
    }
}

impl ExactSizeIterator for Catch<'_> {}

impl Drop for Catch<'_> {
    #[inline]
    fn drop(&mut self) {
        self.for_each(drop);
    }
}
