//! The messages that one poll brings the future that polls.

use crate::queue::Queue;
use arrayvec::ArrayVec;
use bertha_core::Buf;
use bertha_core::buf::Pieces;
use std::fmt;

/// The capacity of a [`ReceiveBatch`].
pub const BATCH: usize = 32;

/// Messages of the connection whose future polls: they come here directly, past its queue and all wakers. Lives on the stack of
/// the receiving call, without an allocation.
pub struct ReceiveBatch<M = Buf> {
    messages: ArrayVec<M, BATCH>,
    connection: Option<usize>,
    wanted: usize,
}

/// A message, or several that came in one buffer.
pub trait Batched: Sized + Sealed {
    /// The number of messages.
    fn count(&self) -> usize;

    /// Removes the next messages of a queue, at most `max`.
    #[doc(hidden)]
    fn take(queue: &mut Queue, max: usize) -> Option<Self>;

    /// The first messages of a buffer in which each is `stride` bytes long but for the last, at most `max`; and the others.
    #[doc(hidden)]
    fn split(buffer: Buf, stride: usize, max: usize) -> (Self, Option<Pieces>);
}

/// Not for other crates: a queue holds nothing else.
pub trait Sealed {}

impl Sealed for Buf {}

impl Batched for Buf {
    #[inline]
    fn count(&self) -> usize {
        1
    }

    #[inline]
    fn take(queue: &mut Queue, _: usize) -> Option<Self> {
        queue.pop()
    }

    #[inline]
    fn split(buffer: Buf, stride: usize, _: usize) -> (Self, Option<Pieces>) {
        if buffer.len() <= stride { (buffer, None) } else { split_first(buffer, stride) }
    }
}

#[cold]
fn split_first(mut buffer: Buf, stride: usize) -> (Buf, Option<Pieces>) {
    match buffer.split_to(stride) {
        Ok(first) => (first, Some(buffer.into_pieces(stride))),
        // There are more bytes than that.
        Err(_) => (buffer, None),
    }
}

impl Sealed for Pieces {}

impl Batched for Pieces {
    #[inline]
    fn count(&self) -> usize {
        self.len()
    }

    #[inline]
    fn take(queue: &mut Queue, max: usize) -> Option<Self> {
        queue.take(max)
    }

    #[inline]
    fn split(buffer: Buf, stride: usize, max: usize) -> (Self, Option<Pieces>) {
        let mut messages = buffer.into_pieces(stride);
        if messages.len() <= max {
            return (messages, None);
        }
        (messages.split_first(max), Some(messages))
    }
}

impl<M: Batched> ReceiveBatch<M> {
    /// Room for at most `max` messages of `connection`.
    #[inline]
    pub fn new(connection: usize, max: usize) -> Self {
        Self { messages: ArrayVec::new_const(), connection: Some(connection), wanted: max }
    }

    /// For a future that waits for something else: everything takes the way through the queues.
    #[inline]
    pub fn none() -> Self {
        Self { messages: ArrayVec::new_const(), connection: None, wanted: 0 }
    }

    /// The connection whose messages are wanted.
    #[inline]
    pub fn connection(&self) -> Option<usize> {
        self.connection
    }

    /// How many more messages are wanted.
    #[inline]
    pub fn wanted(&self) -> usize {
        self.wanted
    }

    /// Whether nothing more is to be pushed.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.wanted == 0 || self.messages.is_full()
    }

    /// Nothing more is wanted.
    #[inline]
    pub fn end(&mut self) {
        self.wanted = 0;
    }

    /// Appends messages, of which no more than [`wanted`](Self::wanted) may be given to a batch that is not full.
    #[inline]
    pub fn push(&mut self, messages: M) {
        debug_assert!(!self.is_full() && messages.count() <= self.wanted);
        self.wanted = self.wanted.saturating_sub(messages.count());
        let pushed = self.messages.try_push(messages);
        debug_assert!(pushed.is_ok());
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Removes the last messages: the only ones of a batch of one.
    #[inline]
    pub fn pop(&mut self) -> Option<M> {
        self.messages.pop()
    }

    /// Removes everything, in order. The iterator says how long it is, so that a vector makes room once.
    #[inline]
    pub fn drain(&mut self) -> impl ExactSizeIterator<Item = M> {
        self.messages.drain(..)
    }
}

impl<M> fmt::Debug for ReceiveBatch<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReceiveBatch")
            .field("len", &self.messages.len())
            .field("wanted", &self.wanted)
            .finish_non_exhaustive()
    }
}
