//! The data of one epoch of a link: its header, and the messages that readers of other epochs have read for
//! it.

use crate::wire::{HEADER, Kind, Tag};
use bertha_core::Buf;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// Maximum number of an epoch's messages that wait for their reader. At this number the link stops reading.
/// Over a base that loses messages it goes on and drops messages, since the old epoch's Chunnels may wait for
/// later messages.
const CAPACITY: usize = 1024;

/// The same among any number of endpoints.
pub(crate) const GROUP_CAPACITY: usize = 8 * CAPACITY;

/// Bit of the state: messages are in the queue.
const QUEUED: u8 = 1;
/// Bit of the state: the reader of another epoch reads the base, and puts this epoch's messages into the
/// queue.
const NOT_READER: u8 = 2;
/// Bit of the state: the messages in the queue are the last.
const OVER: u8 = 4;
/// Bit of the state: the peer has closed, and the close waits until all messages read before are received.
const PEER_CLOSED: u8 = 8;

pub(crate) struct EpochQueue {
    /// The header of the epoch's data, as the number that it is compared as.
    pub header: u64,
    /// A set of bits. It is almost always empty, so a reception spends a single load on it.
    state: AtomicU8,
    queue: Mutex<VecDeque<Buf>>,
    /// Maximum number of messages in the queue.
    capacity: usize,
    /// True if this end sends in the epoch, so that the end of its link is the connection's end.
    is_active: AtomicBool,
    /// True once the epoch has no reader any more.
    is_forgotten: AtomicBool,
}

impl EpochQueue {
    /// The state of a queue without news, whose epoch reads the base.
    pub(crate) const READING: u8 = 0;

    /// Makes the queue of the epoch that a connection begins with, with the messages that overtook the
    /// answer.
    pub(crate) fn first(tag: Tag, early: VecDeque<Buf>) -> Self {
        Self::new(u64::from_le_bytes(tag.header(Kind::Data)), early, Self::READING, CAPACITY)
    }

    /// Makes the queue of a later epoch, which does not read the base yet.
    pub(crate) fn later(tag: Tag, round: u64) -> Self {
        Self::new(u64::from_le_bytes(tag.data_header(round)), VecDeque::new(), NOT_READER, CAPACITY)
    }

    /// Makes the queue of a sibling, which does not read before its steering has begun.
    pub(crate) fn sibling(header: u64) -> Self {
        Self::new(header, VecDeque::new(), NOT_READER, CAPACITY)
    }

    /// Makes the queue of a round among any number of endpoints. Endpoints may be rounds apart, so the queue
    /// takes more messages.
    pub(crate) fn among(header: [u8; HEADER], is_not_reader: bool) -> Self {
        let state = if is_not_reader { NOT_READER } else { Self::READING };
        Self::new(u64::from_le_bytes(header), VecDeque::new(), state, GROUP_CAPACITY)
    }

    fn new(header: u64, queue: VecDeque<Buf>, state: u8, capacity: usize) -> Self {
        let queued = if queue.is_empty() { 0 } else { QUEUED };
        Self {
            header,
            state: AtomicU8::new(queued | state),
            queue: Mutex::new(queue),
            capacity,
            is_active: AtomicBool::new(state == Self::READING),
            is_forgotten: AtomicBool::new(false),
        }
    }

    /// Returns the state of the queue. It equals an earlier state as long as there are no news for a reader.
    #[inline]
    pub(crate) fn state(&self) -> u8 {
        self.state.load(Ordering::Acquire)
    }

    /// Returns the next message that another reader has read, and true if the queue was full before and has
    /// room now.
    #[cold]
    pub(crate) fn take(&self) -> Option<(Buf, bool)> {
        let mut queue = self.queue.lock();
        let was_full = queue.len() >= self.capacity;
        let message = queue.pop_front()?;
        if queue.is_empty() {
            self.state.fetch_and(!QUEUED, Ordering::Release);
        }
        Some((message, was_full && queue.len() < self.capacity))
    }

    /// Keeps a message for the epoch's reader.
    ///
    /// # Errors
    /// Returns the message if the queue is full. Over a reliable base it takes twice as many messages, since
    /// a reader waits for room only after it has put a message into the queue, and may be cancelled while it
    /// waits.
    pub(crate) fn put(&self, message: Buf, is_reliable: bool) -> Result<(), Buf> {
        let mut queue = self.queue.lock();
        if queue.len() >= self.capacity << u32::from(is_reliable) {
            return Err(message);
        }
        queue.push_back(message);
        self.state.fetch_or(QUEUED, Ordering::Release);
        Ok(())
    }

    pub(crate) fn is_full(&self) -> bool {
        self.queue.lock().len() >= self.capacity
    }

    pub(crate) fn is_not_reader(state: u8) -> bool {
        state & NOT_READER != 0
    }

    pub(crate) fn is_over(state: u8) -> bool {
        state & OVER != 0
    }

    pub(crate) fn has_peer_closed(state: u8) -> bool {
        state & PEER_CLOSED != 0
    }

    /// Returns true if messages wait for the reader.
    pub(super) fn is_queued(&self) -> bool {
        Self::is_queued_in(self.state())
    }

    pub(super) fn is_queued_in(state: u8) -> bool {
        state & QUEUED != 0
    }

    /// Records that the peer has closed.
    pub(super) fn peer_closed(&self) {
        self.state.fetch_or(PEER_CLOSED, Ordering::Release);
    }

    /// Says that nothing more will come.
    pub(crate) fn end(&self) {
        self.state.fetch_or(OVER, Ordering::Release);
    }

    pub(crate) fn set_not_reader(&self, is_not_reader: bool) {
        match is_not_reader {
            true => self.state.fetch_or(NOT_READER, Ordering::Release),
            false => self.state.fetch_and(!NOT_READER, Ordering::Release),
        };
    }

    pub(crate) fn set_active(&self, is_active: bool) {
        self.is_active.store(is_active, Ordering::Release);
    }

    pub(crate) fn is_active(&self) -> bool {
        self.is_active.load(Ordering::Acquire)
    }

    pub(crate) fn forget(&self) {
        self.is_forgotten.store(true, Ordering::Release);
    }

    pub(crate) fn is_forgotten(&self) -> bool {
        self.is_forgotten.load(Ordering::Acquire)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;

    fn message() -> Buf {
        Buf::copy_of(b"early", 0).unwrap()
    }

    #[test]
    fn messages_of_the_next_stack_are_kept_up_to_a_bound() {
        for is_reliable in [false, true] {
            let queue = EpochQueue::later(Tag::of(7), 1);
            let kept = (0..3 * CAPACITY).filter(|_| queue.put(message(), is_reliable).is_ok()).count();
            assert_eq!(kept, if is_reliable { 2 * CAPACITY } else { CAPACITY });
            assert!(queue.is_full());
        }
    }

    #[test]
    fn the_first_message_that_makes_room_says_so() {
        let queue = EpochQueue::later(Tag::of(7), 1);
        (0..=CAPACITY).for_each(|_| drop(queue.put(message(), true)));
        assert!(!queue.take().unwrap().1, "it is still full");
        assert!(queue.take().unwrap().1);
        assert!(!queue.take().unwrap().1, "there was room before");
        while queue.take().is_some() {}
        assert!(!queue.is_queued());
    }

    #[test]
    fn each_news_is_a_bit_of_its_own() {
        let queue = EpochQueue::first(Tag::of(7), VecDeque::new());
        assert!(queue.state() == EpochQueue::READING && queue.is_active() && !queue.is_forgotten());
        let bits = |queue: &EpochQueue| {
            let state = queue.state();
            let [not_reader, over] = [EpochQueue::is_not_reader(state), EpochQueue::is_over(state)];
            [not_reader, over, EpochQueue::has_peer_closed(state), queue.is_queued()]
        };
        queue.set_not_reader(true);
        assert_eq!(bits(&queue), [true, false, false, false]);
        queue.end();
        assert_eq!(bits(&queue), [true, true, false, false]);
        queue.set_not_reader(false);
        assert_eq!(bits(&queue), [false, true, false, false]);
        queue.peer_closed();
        assert_eq!(bits(&queue), [false, true, true, false]);
        queue.put(message(), true).unwrap();
        queue.put(message(), true).unwrap();
        assert_eq!(bits(&queue), [false, true, true, true]);
        assert!(queue.take().is_some_and(|(message, _)| message[..] == *b"early"));
        assert_eq!(bits(&queue), [false, true, true, true]);
        queue.take().unwrap();
        assert_eq!(bits(&queue), [false, true, true, false]);
        assert!(queue.take().is_none() && !queue.is_full());
        queue.forget();
        queue.set_active(false);
        assert!(queue.is_forgotten() && !queue.is_active());
    }

    #[test]
    fn queues_begin_in_the_state_of_their_epoch() {
        let early = EpochQueue::first(Tag::of(7), VecDeque::from([message()]));
        assert!(early.is_queued() && early.is_active() && early.take().is_some());
        let later = EpochQueue::later(Tag::of(7), 1);
        assert!(EpochQueue::is_not_reader(later.state()) && !later.is_active() && !later.is_queued());
        assert_ne!(later.header, early.header);
        for is_not_reader in [false, true] {
            let among = EpochQueue::among([1; HEADER], is_not_reader);
            assert_eq!(EpochQueue::is_not_reader(among.state()), is_not_reader);
            assert_eq!((among.is_active(), among.header), (!is_not_reader, u64::from_le_bytes([1; HEADER])));
            let kept = (0..GROUP_CAPACITY + 1).filter(|_| among.put(message(), false).is_ok()).count();
            assert_eq!(kept, 8_192);
        }
    }
}
