//! The data of one epoch of a link: its mark, and the messages that other readers of the base have read for it.

use crate::wire::{HEADER, Kind, Tag};
use bertha_core::Buf;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

/// The number of an epoch's messages that wait for their reader before the link reads no more, or, over a base that
/// loses messages anyway, drops more. There the reader has to go on, since the old epoch's Chunnels may wait for
/// messages behind.
const CAPACITY: usize = 1024;

/// The same among any number of endpoints.
pub(crate) const GROUP_CAPACITY: usize = 8 * CAPACITY;

/// There are messages in the queue.
const QUEUED: u8 = 1;
/// Another epoch's reader reads the base, and puts this epoch's messages into the queue.
const ASIDE: u8 = 2;
/// Nothing more will come but the messages in the queue.
const OVER: u8 = 4;
/// The peer has closed, and its end waits until all messages read before are received.
const PARTED: u8 = 8;

pub(crate) struct EpochQueue {
    /// The header of the epoch's data, as the number that it is compared as.
    pub header: u64,
    /// Almost always 0, and then one load is all that a reception spends on it.
    state: AtomicU8,
    queue: Mutex<VecDeque<Buf>>,
    /// The number of messages that the queue takes.
    capacity: usize,
    /// Whether this end sends in the epoch, so that the end of its link is the connection's end.
    is_in_force: AtomicBool,
    /// Set once the epoch has no reader any more.
    is_forgotten: AtomicBool,
}

impl EpochQueue {
    /// The queue of the epoch that a connection begins with, with the messages that overtook the answer.
    pub(crate) fn first(tag: Tag, early: VecDeque<Buf>) -> Self {
        Self::new(u64::from_le_bytes(tag.header(Kind::Data)), early, 0, CAPACITY)
    }

    /// The queue of a later epoch, which does not read the base yet.
    pub(crate) fn later(tag: Tag, round: u64) -> Self {
        Self::new(u64::from_le_bytes(tag.data_header(round)), VecDeque::new(), ASIDE, CAPACITY)
    }

    /// The queue of a round among any number of endpoints. Some endpoints are ahead of others, so it takes more
    /// messages.
    pub(crate) fn among(header: [u8; HEADER], is_aside: bool) -> Self {
        let aside = if is_aside { ASIDE } else { 0 };
        Self::new(u64::from_le_bytes(header), VecDeque::new(), aside, GROUP_CAPACITY)
    }

    fn new(header: u64, queue: VecDeque<Buf>, aside: u8, capacity: usize) -> Self {
        let queued = if queue.is_empty() { 0 } else { QUEUED };
        let (state, queue) = (AtomicU8::new(queued | aside), Mutex::new(queue));
        let is_in_force = AtomicBool::new(aside == 0);
        Self { header, state, queue, capacity, is_in_force, is_forgotten: AtomicBool::new(false) }
    }

    /// The state of the queue: equal to an earlier result as long as there is nothing new for a reader.
    #[inline]
    pub(crate) fn state(&self) -> u8 {
        self.state.load(Ordering::Acquire)
    }

    /// The next message that another reader has read, and whether there is room for more than before.
    #[cold]
    pub(crate) fn take(&self) -> Option<(Buf, bool)> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let was_full = queue.len() >= self.capacity;
        let message = queue.pop_front()?;
        if queue.is_empty() {
            self.state.fetch_and(!QUEUED, Ordering::Release);
        }
        Some((message, was_full && queue.len() < self.capacity))
    }

    /// Keeps a message for the epoch's reader. Fails if there are too many already; over a reliable base if there are
    /// twice as many, since then the readers that brought them wait for room, and were cancelled one after the other.
    pub(crate) fn put(&self, message: Buf, is_reliable: bool) -> Result<(), Buf> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.len() >= self.capacity << u32::from(is_reliable) {
            return Err(message);
        }
        queue.push_back(message);
        self.state.fetch_or(QUEUED, Ordering::Release);
        Ok(())
    }

    pub(crate) fn is_full(&self) -> bool {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).len() >= self.capacity
    }

    pub(crate) fn is_aside(state: u8) -> bool {
        state & ASIDE != 0
    }

    pub(crate) fn is_over(state: u8) -> bool {
        state & OVER != 0
    }

    pub(crate) fn is_parted(state: u8) -> bool {
        state & PARTED != 0
    }

    /// Whether messages wait for the reader.
    pub(super) fn is_queued(&self) -> bool {
        self.state() & QUEUED != 0
    }

    /// Says that the peer has closed.
    pub(super) fn part(&self) {
        self.state.fetch_or(PARTED, Ordering::Release);
    }

    /// Says that nothing more will come.
    pub(crate) fn end(&self) {
        self.state.fetch_or(OVER, Ordering::Release);
    }

    pub(crate) fn set_aside(&self, is_aside: bool) {
        match is_aside {
            true => self.state.fetch_or(ASIDE, Ordering::Release),
            false => self.state.fetch_and(!ASIDE, Ordering::Release),
        };
    }

    pub(crate) fn put_in_force(&self, is_in_force: bool) {
        self.is_in_force.store(is_in_force, Ordering::Release);
    }

    pub(crate) fn is_in_force(&self) -> bool {
        self.is_in_force.load(Ordering::Acquire)
    }

    pub(crate) fn forget(&self) {
        self.is_forgotten.store(true, Ordering::Release);
    }

    pub(crate) fn is_forgotten(&self) -> bool {
        self.is_forgotten.load(Ordering::Acquire)
    }
}
