//! The data of one round of a link: how it is marked, and what of it was read by somebody else.

use crate::wire::{Kind, Tag};
use bertha_core::Buf;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

/// How many messages of a round wait for their reader before the link reads no more.
const CAPACITY: usize = 1024;

/// There are messages in the queue.
const QUEUED: u8 = 1;
/// Another round's reader reads the base, and puts this round's messages into the queue.
const ASIDE: u8 = 2;

pub(crate) struct Lane {
    /// The first four bytes of the round's data, as the number that they are compared as.
    pub(crate) header: u32,
    /// Almost always 0, and then one load is all that a reception spends on it.
    state: AtomicU8,
    queue: Mutex<VecDeque<Buf>>,
    /// Whether the link of this round is no longer the connection's, so that its end is not the connection's end.
    is_retired: AtomicBool,
}

impl Lane {
    /// The lane of the round that a connection begins with, with the messages that overtook the answer.
    pub(super) fn first(tag: Tag, early: VecDeque<Buf>) -> Self {
        Self::new(u32::from_le_bytes(tag.header(Kind::Data)), early, 0)
    }

    /// The lane of a later round, which does not read the base yet.
    pub(super) fn later(tag: Tag, round: u64) -> Self {
        Self::new(u32::from_le_bytes(tag.data_header(round)), VecDeque::new(), ASIDE)
    }

    fn new(header: u32, queue: VecDeque<Buf>, aside: u8) -> Self {
        let queued = if queue.is_empty() { 0 } else { QUEUED };
        let (state, queue) = (AtomicU8::new(queued | aside), Mutex::new(queue));
        Self { header, state, queue, is_retired: AtomicBool::new(false) }
    }

    /// What stands here: equal to an earlier result as long as there is nothing new for a reader.
    #[inline]
    pub(super) fn state(&self) -> u8 {
        self.state.load(Ordering::Acquire)
    }

    /// Whether `message` is of this round.
    #[inline]
    pub(super) fn carries(&self, message: &[u8]) -> bool {
        message.first_chunk().is_some_and(|first| u32::from_le_bytes(*first) == self.header)
    }

    /// The next message that somebody else has read. With it, whether there is room for more than before.
    #[cold]
    pub(super) fn take(&self) -> Option<(Buf, bool)> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let was_full = queue.len() >= CAPACITY;
        let message = queue.pop_front()?;
        if queue.is_empty() {
            self.state.fetch_and(!QUEUED, Ordering::Release);
        }
        Some((message, was_full && queue.len() < CAPACITY))
    }

    /// Keeps a message for the round's reader. Fails if there are far too many already: the readers that brought them
    /// were cancelled one after the other while they waited for room.
    pub(super) fn put(&self, message: Buf) -> Result<(), Buf> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.len() >= 2 * CAPACITY {
            return Err(message);
        }
        queue.push_back(message);
        self.state.fetch_or(QUEUED, Ordering::Release);
        Ok(())
    }

    pub(super) fn is_full(&self) -> bool {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).len() >= CAPACITY
    }

    pub(super) fn is_aside(state: u8) -> bool {
        state & ASIDE != 0
    }

    pub(super) fn set_aside(&self, is_aside: bool) {
        match is_aside {
            true => self.state.fetch_or(ASIDE, Ordering::Release),
            false => self.state.fetch_and(!ASIDE, Ordering::Release),
        };
    }

    pub(crate) fn retire(&self) {
        self.is_retired.store(true, Ordering::Release);
    }

    pub(super) fn is_retired(&self) -> bool {
        self.is_retired.load(Ordering::Acquire)
    }
}
