//! The messages from the peer.

use crate::reliable::wire::{Fault, Grant};
use bertha_core::{Buf, DropCounter};
use std::collections::VecDeque;

/// The number of messages that wait in the buffers they arrived in: those of a burst. Later ones are copied, since an application
/// that lags behind would otherwise occupy all buffers of the datapath.
const MAX_IN_PLACE: usize = 64;

/// The messages that have arrived, and the grant to the peer.
#[derive(Debug)]
pub(super) struct Incoming {
    /// Messages that the application has not received.
    queue: VecDeque<Buf>,
    /// All messages before this one have arrived.
    floor: u64,
    /// A bit for each message from `floor` on that has arrived, at its number modulo the number of bits.
    arrived: Box<[u64]>,
    arrived_bytes: u64,
    /// The messages and bytes that the application has received.
    received: Grant,
    /// The grant that was sent to the peer.
    granted: Grant,
    /// True if the last grant was lost.
    is_grant_lost: bool,
    /// The size of the buffer.
    window: Grant,
    /// The total number of messages, once the peer has closed.
    last: Option<u64>,
    /// True if messages are dropped, since this end has closed.
    is_discarding: bool,
    /// The messages that were dropped since, and packets that came once nothing could.
    pub(super) after_end: DropCounter,
}

impl Incoming {
    /// Buffers up to `window`, whose messages are rounded up to a multiple of 64. `granted`, at most the window, is the grant that
    /// both ends assume at first.
    pub(super) fn new(window: Grant, granted: Grant) -> Self {
        let words = window.messages.div_ceil(64);
        Self {
            queue: VecDeque::new(),
            floor: 0,
            arrived: vec![0; words as usize].into(),
            arrived_bytes: 0,
            received: Grant { messages: 0, bytes: 0 },
            granted,
            is_grant_lost: false,
            window: Grant { messages: 64 * words, ..window },
            last: None,
            is_discarding: false,
            after_end: DropCounter::default(),
        }
    }

    /// Records the arrival of message `number`, of `len` bytes. Returns true if the message is new: the caller then
    /// hands it to [`push`](Self::push).
    ///
    /// # Errors
    /// A [`Fault`] if the peer was not allowed to send it.
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
        let (word, bit) = self.bit(number);
        self.arrived[word] |= bit;
        while self.has_arrived(self.floor) {
            let (word, bit) = self.bit(self.floor);
            self.arrived[word] &= !bit;
            self.floor += 1;
        }
        Ok(true)
    }

    /// Buffers a message for the application.
    pub(super) fn push(&mut self, message: Buf) {
        if self.is_discarding {
            self.count_received(message.len());
            self.after_end.add(1);
        } else if self.queue.len() < MAX_IN_PLACE {
            self.queue.push_back(message);
        } else {
            self.queue.push_back(message.kept());
        }
    }

    /// Returns the next message for the application.
    pub(super) fn pop(&mut self) -> Option<Buf> {
        let message = self.queue.pop_front()?;
        self.count_received(message.len());
        Some(message)
    }

    /// Returns the number of messages that wait for the application.
    pub(super) fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Returns the number of buffered messages, and their bytes.
    #[cfg(test)]
    pub(super) fn kept(&self) -> (usize, usize) {
        (self.queue.len(), self.queue.iter().map(|message| message.len()).sum())
    }

    /// Drops buffered and future messages.
    pub(super) fn discard(&mut self) {
        self.is_discarding = true;
        while self.pop().is_some() {
            self.after_end.add(1);
        }
    }

    /// Takes in the close of the peer after `last` messages in all.
    ///
    /// # Errors
    /// A [`Fault`] if the peer contradicts itself.
    pub(super) fn on_close(&mut self, last: u64) -> Result<(), Fault> {
        let contradicts = self.last.is_some_and(|before| before != last) || last < self.floor;
        if contradicts || last > self.granted.messages {
            return Err(Fault::ContradictedEnd);
        }
        self.last = Some(last);
        Ok(())
    }

    /// Returns true if the peer has closed, and all its messages have arrived.
    pub(super) fn is_over(&self) -> bool {
        self.last == Some(self.floor)
    }

    /// Returns the grant to send now, if it is enough more than the last grant, or the last grant was lost.
    pub(super) fn grant_due(&self) -> Option<Grant> {
        let grant = self.grant();
        let is_much = grant.messages - self.granted.messages >= self.window.messages / 4
            || grant.bytes - self.granted.bytes >= self.window.bytes / 4;
        let is_due = self.is_grant_lost || is_much;
        (is_due && self.last.is_none()).then_some(grant)
    }

    /// Records that a grant was sent.
    pub(super) fn on_grant_sent(&mut self, grant: Grant) {
        self.granted = grant;
        self.is_grant_lost = false;
    }

    /// Takes in that the packet with the grant was lost.
    pub(super) fn on_grant_lost(&mut self) {
        self.is_grant_lost = true;
    }

    /// Messages count from the oldest that is missing or buffered, so that neither the queue nor the bits overflow; bytes
    /// count from those that the application has received. A grant never shrinks.
    fn grant(&self) -> Grant {
        let messages = self.received.messages.min(self.floor) + self.window.messages;
        let bytes = self.received.bytes + self.window.bytes;
        Grant { messages: messages.max(self.granted.messages), bytes: bytes.max(self.granted.bytes) }
    }

    fn count_received(&mut self, len: usize) {
        self.received.messages += 1;
        self.received.bytes += len as u64;
    }

    fn has_arrived(&self, number: u64) -> bool {
        let (word, bit) = self.bit(number);
        self.arrived[word] & bit != 0
    }

    fn bit(&self, number: u64) -> (usize, u64) {
        let index = number % self.window.messages;
        ((index / 64) as usize, 1 << (index % 64))
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
        incoming.on_grant_sent(grant);
        assert_eq!(incoming.grant_due(), None);
        incoming.on_grant_lost();
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
        assert_eq!(incoming.on_close(0), Err(Fault::ContradictedEnd));
        assert_eq!(incoming.on_close(2), Ok(()));
        assert_eq!(incoming.on_close(3), Err(Fault::ContradictedEnd));
        assert_eq!(receive(&mut incoming, 2, 1), Err(Fault::ContradictedEnd));
        assert!(!incoming.is_over());
        receive(&mut incoming, 1, 1).unwrap();
        assert!(incoming.is_over());
    }

    #[test]
    fn a_grant_is_due_after_a_quarter_of_the_messages_or_of_the_bytes() {
        for (messages, len, is_due) in
            [(15, 1, false), (16, 1, true), (1, 249, false), (1, 250, true), (2, 125, true)]
        {
            let mut incoming = Incoming::new(WINDOW, WINDOW);
            for number in 0..messages {
                receive(&mut incoming, number, len).unwrap();
                drop(incoming.pop());
            }
            let grant = Grant { messages: 64 + messages, bytes: 1_000 + messages * len as u64 };
            assert_eq!(incoming.grant_due(), is_due.then_some(grant), "{messages} of {len} bytes");
            // A peer that has closed needs no grant.
            incoming.on_close(messages).unwrap();
            incoming.on_grant_lost();
            assert_eq!(incoming.grant_due(), None);
        }
    }

    #[test]
    fn the_number_of_messages_is_rounded_up_to_whole_words() {
        for (messages, words) in [(1, 1), (64, 1), (65, 2), (128, 2)] {
            let incoming = Incoming::new(Grant { messages, bytes: 1 }, Grant { messages: 1, bytes: 1 });
            assert_eq!((incoming.window.messages, incoming.arrived.len()), (64 * words, words as usize));
            assert_eq!(incoming.grant().messages, 64 * words);
        }
    }

    #[test]
    fn an_end_at_a_bound_of_what_can_be_is_no_contradiction() {
        let mut incoming = Incoming::new(WINDOW, WINDOW);
        receive(&mut incoming, 0, 1).unwrap();
        assert_eq!(incoming.on_close(65), Err(Fault::ContradictedEnd));
        assert_eq!(incoming.on_close(64), Ok(()));
        assert_eq!(incoming.on_close(64), Ok(()));
        let mut incoming = Incoming::new(WINDOW, WINDOW);
        receive(&mut incoming, 0, 1).unwrap();
        assert_eq!(incoming.on_close(1), Ok(()));
        assert!(incoming.is_over());
    }

    #[test]
    fn messages_for_nobody_are_counted_and_make_room() {
        let mut incoming = Incoming::new(WINDOW, WINDOW);
        receive(&mut incoming, 0, 10).unwrap();
        receive(&mut incoming, 1, 20).unwrap();
        incoming.discard();
        receive(&mut incoming, 2, 30).unwrap();
        assert_eq!((incoming.after_end.get(), incoming.kept()), (3, (0, 0)));
        assert_eq!(incoming.grant(), Grant { messages: 67, bytes: 1_060 });
    }

    #[test]
    fn a_burst_waits_where_it_arrived_and_later_messages_are_copied() {
        struct Datapath {
            bytes: Vec<u8>,
            _counted: std::sync::Arc<()>,
        }
        impl AsMut<[u8]> for Datapath {
            fn as_mut(&mut self) -> &mut [u8] {
                &mut self.bytes
            }
        }
        let window = Grant { messages: 128, bytes: 100_000 };
        let mut incoming = Incoming::new(window, window);
        let owned = std::sync::Arc::new(());
        for number in 0..70 {
            let message =
                Buf::from_owner(Datapath { bytes: vec![7; 500], _counted: owned.clone() }).ok().unwrap();
            assert_eq!(incoming.accept(number, message.len()), Ok(true));
            incoming.push(message);
        }
        assert_eq!(std::sync::Arc::strong_count(&owned) - 1, MAX_IN_PLACE);
        assert!(std::iter::from_fn(|| incoming.pop()).all(|message| message[..] == [7; 500]));
    }
}
