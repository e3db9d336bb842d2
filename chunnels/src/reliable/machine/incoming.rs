//! Messages from the peer.

use crate::reliable::wire::{Fault, Grant};
use bertha_core::Buf;
use std::collections::VecDeque;

/// How many messages wait in the buffers that they came in: those of a burst. If more do, the application is slow, and might keep all
/// buffers of the datapath, also from connections that it is waiting for: later ones are copied.
const IN_PLACE: usize = 64;

/// Which messages have arrived, those that wait for the application, and how much the peer may send.
#[derive(Debug)]
pub(super) struct Incoming {
    /// Messages that the application has not received.
    queue: VecDeque<Buf>,
    /// All messages before this one have arrived.
    floor: u64,
    /// For each message from `floor` on whether it has arrived: a bit each, at its number modulo their count.
    arrived: Box<[u64]>,
    arrived_bytes: u64,
    /// How many messages, and bytes in them, the application has received.
    taken: Grant,
    /// What the peer was told.
    granted: Grant,
    /// Whether it may not have heard so.
    is_grant_lost: bool,
    /// How much may wait.
    window: Grant,
    /// How many messages there are in all, once the peer has said so.
    last: Option<u64>,
    /// Whether nobody will receive any more.
    is_discarding: bool,
}

impl Incoming {
    /// `window` says how much may wait, and `granted` what both ends assume at first, at most that much. The window's
    /// messages are rounded up to a multiple of 64.
    pub(super) fn new(window: Grant, granted: Grant) -> Self {
        let words = window.messages.div_ceil(64);
        Self {
            queue: VecDeque::new(),
            floor: 0,
            arrived: vec![0; words as usize].into(),
            arrived_bytes: 0,
            taken: Grant { messages: 0, bytes: 0 },
            granted,
            is_grant_lost: false,
            window: Grant { messages: 64 * words, ..window },
            last: None,
            is_discarding: false,
        }
    }

    /// Whether message `number`, of `len` bytes, is new. If so, it counts as arrived; [`push`](Self::push) it then.
    ///
    /// # Errors
    /// If the peer was not allowed to send it.
    pub(super) fn accept(&mut self, number: u64, len: usize) -> Result<bool, Fault> {
        if self.last.is_some_and(|last| number >= last) {
            return Err(Fault::ContradictedEnd);
        }
        if number >= self.granted.messages {
            return Err(Fault::ExceededGrant);
        }
        if number < self.floor || self.has_arrived(number) {
            return Ok(false);
        }
        let bytes = self.arrived_bytes + len as u64;
        if bytes > self.granted.bytes {
            return Err(Fault::ExceededGrant);
        }
        self.arrived_bytes = bytes;
        let (word, bit) = self.place(number);
        self.arrived[word] |= bit;
        while self.has_arrived(self.floor) {
            let (word, bit) = self.place(self.floor);
            self.arrived[word] &= !bit;
            self.floor += 1;
        }
        Ok(true)
    }

    /// Keeps a message for the application.
    pub(super) fn push(&mut self, message: Buf) {
        if self.is_discarding {
            self.count_taken(message.len());
        } else if self.queue.len() < IN_PLACE {
            self.queue.push_back(message);
        } else {
            self.queue.push_back(message.kept());
        }
    }

    /// The next message for the application.
    pub(super) fn pop(&mut self) -> Option<Buf> {
        let message = self.queue.pop_front()?;
        self.count_taken(message.len());
        Some(message)
    }

    /// How many messages wait for the application, and how many bytes.
    #[cfg(test)]
    pub(super) fn kept(&self) -> (usize, usize) {
        (self.queue.len(), self.queue.iter().map(|message| message.len()).sum())
    }

    /// Drops what waits and what is still to come.
    pub(super) fn discard(&mut self) {
        self.is_discarding = true;
        while self.pop().is_some() {}
    }

    /// The peer says that it sends `last` messages in all.
    ///
    /// # Errors
    /// If it said or did otherwise before.
    pub(super) fn ends_at(&mut self, last: u64) -> Result<(), Fault> {
        let contradicts = self.last.is_some_and(|before| before != last) || last < self.floor;
        if contradicts || last > self.granted.messages {
            return Err(Fault::ContradictedEnd);
        }
        self.last = Some(last);
        Ok(())
    }

    /// Whether the peer has closed, and all that it sent before has arrived.
    pub(super) fn is_over(&self) -> bool {
        self.last == Some(self.floor)
    }

    /// What the peer may send now, if it is so much more than it knows of that it should be told.
    pub(super) fn grant_due(&self) -> Option<Grant> {
        let grant = self.grant();
        let is_much = grant.messages - self.granted.messages >= self.window.messages / 4
            || grant.bytes - self.granted.bytes >= self.window.bytes / 4;
        let is_due = self.is_grant_lost || is_much;
        (is_due && self.last.is_none()).then_some(grant)
    }

    /// The peer is told.
    pub(super) fn grant_sent(&mut self, grant: Grant) {
        self.granted = grant;
        self.is_grant_lost = false;
    }

    /// The packet that told the peer is taken for lost.
    pub(super) fn grant_lost(&mut self) {
        self.is_grant_lost = true;
    }

    /// Messages count from the oldest that is missing or waits, so that neither the queue nor the bits overflow; bytes
    /// from what the application has received. Never less than before.
    fn grant(&self) -> Grant {
        let messages = self.taken.messages.min(self.floor) + self.window.messages;
        let bytes = self.taken.bytes + self.window.bytes;
        Grant { messages: messages.max(self.granted.messages), bytes: bytes.max(self.granted.bytes) }
    }

    fn count_taken(&mut self, len: usize) {
        self.taken.messages += 1;
        self.taken.bytes += len as u64;
    }

    fn has_arrived(&self, number: u64) -> bool {
        let (word, bit) = self.place(number);
        self.arrived[word] & bit != 0
    }

    fn place(&self, number: u64) -> (usize, u64) {
        let place = number % self.window.messages;
        ((place / 64) as usize, 1 << (place % 64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Grant = Grant { messages: 64, bytes: 1000 };

    fn message(len: usize) -> Buf {
        Buf::new(len, 0).unwrap()
    }

    fn receive(incoming: &mut Incoming, number: u64, len: usize) -> Result<bool, Fault> {
        let is_new = incoming.accept(number, len)?;
        if is_new {
            incoming.push(message(len));
        }
        Ok(is_new)
    }

    #[test]
    fn each_message_counts_once_in_any_order() {
        let mut incoming = Incoming::new(WINDOW, WINDOW);
        for number in [5, 0, 63, 1] {
            assert_eq!(receive(&mut incoming, number, 1), Ok(true));
            assert_eq!(receive(&mut incoming, number, 1), Ok(false));
        }
        assert_eq!(std::iter::from_fn(|| incoming.pop()).count(), 4);
        assert_eq!(receive(&mut incoming, 5, 1), Ok(false));
    }

    #[test]
    fn more_than_granted_is_a_fault() {
        let mut incoming = Incoming::new(WINDOW, WINDOW);
        assert_eq!(receive(&mut incoming, 64, 1), Err(Fault::ExceededGrant));
        assert_eq!(receive(&mut incoming, 0, 1001), Err(Fault::ExceededGrant));
        assert_eq!(receive(&mut incoming, 0, 1000), Ok(true));
        assert_eq!(receive(&mut incoming, 1, 1), Err(Fault::ExceededGrant));
    }

    #[test]
    fn a_grant_follows_what_the_application_takes_but_not_beyond_a_gap() {
        let mut incoming = Incoming::new(WINDOW, WINDOW);
        for number in 0..20 {
            receive(&mut incoming, number, 1).unwrap();
        }
        assert_eq!(incoming.grant_due(), None);
        (0..20).for_each(|_| drop(incoming.pop()));
        let grant = Grant { messages: 84, bytes: 1020 };
        assert_eq!(incoming.grant_due(), Some(grant));
        incoming.grant_sent(grant);
        assert_eq!(incoming.grant_due(), None);
        incoming.grant_lost();
        assert_eq!(incoming.grant_due(), Some(grant));
        // 20 is missing: those behind it don't move the grant.
        for number in 21..84 {
            assert_eq!(receive(&mut incoming, number, 1), Ok(true));
            drop(incoming.pop());
        }
        assert_eq!(incoming.grant().messages, 84);
        assert_eq!(receive(&mut incoming, 20, 1), Ok(true));
        drop(incoming.pop());
        assert_eq!(incoming.grant().messages, 84 + 64);
    }

    #[test]
    fn the_end_is_where_the_peer_says_and_only_there() {
        let mut incoming = Incoming::new(WINDOW, WINDOW);
        receive(&mut incoming, 0, 1).unwrap();
        assert_eq!(incoming.ends_at(0), Err(Fault::ContradictedEnd));
        assert_eq!(incoming.ends_at(2), Ok(()));
        assert_eq!(incoming.ends_at(3), Err(Fault::ContradictedEnd));
        assert_eq!(receive(&mut incoming, 2, 1), Err(Fault::ContradictedEnd));
        assert!(!incoming.is_over());
        receive(&mut incoming, 1, 1).unwrap();
        assert!(incoming.is_over());
    }
}
