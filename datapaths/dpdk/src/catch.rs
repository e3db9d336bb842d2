//! Messages for whoever polls.

use crate::demux::Demux;
use crate::{Burst, Packet};
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

    /// Takes messages of the connection from the front of `burst`, up to the first frame that is anything else, or to the limit.
    #[inline]
    pub(crate) fn take_from(&mut self, burst: &mut Burst) {
        let Some(prediction) = self.prediction else { return };
        let room = self.limit.saturating_sub(self.end);
        let mut taken = 0;
        for (packet, place) in burst.iter().zip(&mut self.messages[self.end..]).take(room) {
            let Some(payload) = prediction.payload(packet.bytes(), packet.checksums()) else { break };
            // SAFETY: the packet is removed below, and so is used once.
            place.write(unsafe { packet.read_part(payload) });
            taken += 1;
        }
        burst.forget_first(taken);
        self.end += taken;
    }

    /// Takes a message of the connection, if it is one and wanted.
    pub(crate) fn take(&mut self, packet: Packet) -> Result<(), Packet> {
        let known = self.prediction.filter(|_| self.end < self.limit);
        match known.and_then(|it| it.payload(packet.bytes(), packet.checksums())) {
            Some(payload) => {
                self.put(packet.into_part(payload));
                Ok(())
            }
            None => Err(packet),
        }
    }

    /// Has what comes from here on take the way through the connection's queue if something is there, which came before it.
    #[inline]
    pub(crate) fn line_up(&mut self, demux: &mut Demux) {
        if self.end < self.limit && !demux.queue(self.connection).is_empty() {
            self.limit = self.end;
        }
    }

    /// Appends a message, if there is room.
    #[inline]
    fn put(&mut self, message: Buf) {
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
