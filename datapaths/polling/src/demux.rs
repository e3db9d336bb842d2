//! Connections and listeners, the messages that wait for them, and the batch of messages that goes past the queues.

mod waiting;

use crate::queue::Queue;
use crate::waiters::{Awaited, Waiters};
use ahash::RandomState;
use arrayvec::ArrayVec;
use bertha_core::Buf;
use bertha_core::buf::Pieces;
use slab::Slab;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::hash::Hash;
use std::task::Waker;
pub use waiting::Role;

/// The number of messages of a connection that wait until it is accepted: strangers are to cost little memory.
const UNACCEPTED: usize = 32;

/// The bytes of such a connection, and of all of them. The oldest gives way.
const UNACCEPTED_BYTES: usize = 128 << 10;
const ALL_UNACCEPTED_BYTES: usize = 4 << 20;

/// A name of connections: the address of the peer, or both addresses.
pub trait Key: Eq + Hash + Clone + Send + Sync + 'static {}

impl<K: Eq + Hash + Clone + Send + Sync + 'static> Key for K {}

/// Bounds of the messages and connections that may wait.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections of one listener that were not accepted yet.
    pub backlog: usize,
    /// Messages of one connection.
    pub queue: usize,
    /// Messages of all connections. None takes more of them than it leaves to others, so that one that is not received from
    /// does not keep the buffers of all (dynamic thresholds, Choudhury and Hahne, 1998).
    pub shared: usize,
}

/// One connection.
#[derive(Debug)]
struct Connection<K, T> {
    key: K,
    /// State of the datapath's own.
    state: T,
    queue: Queue,
    /// The futures that wait for a message.
    waiters: VecDeque<usize>,
    /// The bytes in the queue, until the connection is accepted.
    unaccepted: usize,
    /// The listener that has yet to accept it.
    listener: Option<usize>,
    is_closed: bool,
}

/// A queue of connections that strangers began.
#[derive(Debug, Default)]
struct Listener {
    backlog: VecDeque<usize>,
    waiters: VecDeque<usize>,
}

/// The demultiplexer of one source: sans-IO, and meant to be behind the source's lock.
///
/// `K` names a connection, and `T` is the datapath's own state of each.
#[derive(Debug)]
pub struct Demux<K, T = ()> {
    connections: Slab<Connection<K, T>>,
    /// Peers choose their addresses, so the hash has a random seed.
    by_key: HashMap<K, usize, RandomState>,
    /// The connection of the last message: a burst from one peer costs one look-up.
    recent: usize,
    listeners: Slab<Listener>,
    /// The futures that wait for each event.
    events: Slab<VecDeque<usize>>,
    waiters: Waiters,
    /// The future that polls the source for all.
    poller: Option<usize>,
    /// A future receives without the lock.
    is_receiving: bool,
    /// The future that polls is polled again without being woken.
    is_busy: bool,
    limits: Limits,
    /// The messages in all queues.
    queued: usize,
    /// The bytes in the queues of connections that were not accepted yet.
    unaccepted: usize,
    /// The messages that were dropped since [`take_evicted`](Self::take_evicted).
    evicted: usize,
    /// To be woken once the lock is free; see [`take_woken`](Self::take_woken).
    woken: Vec<Waker>,
}

/// Connections and their messages.
impl<K: Key, T> Demux<K, T> {
    /// Without connections.
    pub fn new(limits: Limits) -> Self {
        Self {
            connections: Slab::new(),
            by_key: HashMap::with_hasher(RandomState::new()),
            recent: 0,
            listeners: Slab::new(),
            events: Slab::new(),
            waiters: Waiters::default(),
            poller: None,
            is_receiving: false,
            is_busy: false,
            limits,
            queued: 0,
            unaccepted: 0,
            evicted: 0,
            woken: Vec::new(),
        }
    }

    /// Without connections but one, whose number is returned; there will be no other. Nothing is hashed.
    pub fn of_one(limits: Limits, key: K, state: T) -> (Self, usize) {
        let mut demux = Self { connections: Slab::with_capacity(1), ..Self::new(limits) };
        let connection = demux.connections.insert(Connection::new(key, state, None));
        (demux, connection)
    }

    /// For a source that is polled all the time: the future that polls looks for itself, and is not woken for messages of its own.
    #[must_use]
    pub fn busy(self) -> Self {
        Self { is_busy: true, ..self }
    }

    /// Adds a connection that this end began, and returns its number.
    pub fn connect(&mut self, key: K, state: T) -> usize {
        let connection = self.connections.insert(Connection::new(key.clone(), state, None));
        self.by_key.insert(key, connection);
        connection
    }

    /// Adds a listener, and returns its number.
    pub fn listen(&mut self) -> usize {
        self.listeners.insert(Listener::default())
    }

    /// The connection with this name.
    #[inline]
    pub fn find(&mut self, key: &K) -> Option<usize> {
        if self.connections.get(self.recent).is_some_and(|connection| connection.key == *key) {
            return Some(self.recent);
        }
        let connection = *self.by_key.get(key)?;
        self.recent = connection;
        Some(connection)
    }

    /// Adds a connection that a stranger begins, and puts it into the listener's backlog. If that is full, the one that has waited
    /// longest is forgotten: its peer gives up or asks again. `None` if there is no such listener, or no backlog.
    pub fn admit(&mut self, listener: usize, key: K, state: T) -> Option<usize> {
        if self.listeners.get(listener)?.backlog.len() >= self.limits.backlog && !self.evict(listener) {
            return None;
        }
        let connection = self.connections.insert(Connection::new(key.clone(), state, Some(listener)));
        self.listeners.get_mut(listener)?.backlog.push_back(connection);
        self.by_key.insert(key, connection);
        self.recent = connection;
        self.notify(Awaited::Listener(listener));
        Some(connection)
    }

    /// Forgets the connection that has waited longest in a listener's backlog. Whether there was one.
    fn evict(&mut self, listener: usize) -> bool {
        let oldest = self.listeners.get_mut(listener).and_then(|listener| listener.backlog.pop_front());
        let Some(oldest) = oldest else { return false };
        self.evicted += self.connections[oldest].queue.len();
        self.remove(oldest);
        true
    }

    /// The number of messages that were dropped with connections in a full backlog, since the last call.
    pub fn take_evicted(&mut self) -> usize {
        std::mem::take(&mut self.evicted)
    }

    /// Removes the connection that has waited longest from a listener's backlog: it is accepted.
    pub fn accept(&mut self, listener: usize) -> Option<(usize, K)> {
        let number = self.listeners[listener].backlog.pop_front()?;
        let connection = &mut self.connections[number];
        connection.listener = None;
        self.unaccepted -= std::mem::take(&mut connection.unaccepted);
        Some((number, connection.key.clone()))
    }

    /// The name of a connection, and the datapath's state of it.
    #[inline]
    pub fn connection_mut(&mut self, connection: usize) -> (&K, &mut T) {
        let Connection { key, state, .. } = &mut self.connections[connection];
        (key, state)
    }

    /// All connections.
    pub fn connections(&self) -> impl Iterator<Item = (&K, &T)> {
        self.connections.iter().map(|(_, connection)| (&connection.key, &connection.state))
    }

    /// Gives messages that came in one buffer to a connection, and wakes a future that waits for them. Returns how many were
    /// dropped, since no more may wait; all, without being counted, once this end closed the connection.
    #[inline]
    pub fn deliver(&mut self, number: usize, messages: Pieces) -> usize {
        let left = self.limits.shared.saturating_sub(self.queued);
        let connection = &mut self.connections[number];
        if connection.is_closed {
            return 0;
        }
        if let Some(listener) = connection.listener {
            return self.deliver_unaccepted(number, listener, messages);
        }
        let capacity = self.limits.queue.min(left).saturating_sub(connection.queue.len());
        let count = messages.len();
        let dropped = connection.queue.push(messages, capacity);
        self.queued += count - dropped;
        if !connection.waiters.is_empty() {
            self.notify(Awaited::Connection(number));
        }
        dropped
    }

    /// Copies messages of a stranger, so that each takes the memory of its length and not a buffer of the source.
    #[cold]
    fn deliver_unaccepted(&mut self, number: usize, listener: usize, mut messages: Pieces) -> usize {
        let max = UNACCEPTED.min(self.limits.queue);
        while self.waiting(number) < max.min(self.limits.shared.saturating_sub(self.queued))
            && let Some(message) = messages.next()
        {
            let len = message.len();
            let fits = self.connections[number].unaccepted + len <= UNACCEPTED_BYTES
                && self.make_room(listener, number, len);
            let copy = if fits { Buf::copy_of(&message, 0).ok() } else { None };
            let Some(copy) = copy else { return 1 + messages.len() };
            let connection = &mut self.connections[number];
            connection.queue.push(copy.into_pieces(len), 1);
            connection.unaccepted += len;
            self.unaccepted += len;
            self.queued += 1;
        }
        messages.len()
    }

    /// Forgets connections of a listener that have waited longer than this one until there is room for so many bytes of it.
    fn make_room(&mut self, listener: usize, number: usize, len: usize) -> bool {
        while self.unaccepted + len > ALL_UNACCEPTED_BYTES {
            let oldest = self.listeners.get(listener).and_then(|listener| listener.backlog.front());
            if oldest.is_none_or(|oldest| *oldest == number) || !self.evict(listener) {
                return false;
            }
        }
        true
    }

    /// As [`deliver`](Self::deliver), of a buffer in which each message is `stride` bytes long but for the last, to the connection
    /// whose future receives and takes them at once: into `batch` as far as that wants them, and the rest into the queue, which is
    /// not bounded here.
    #[inline]
    pub fn deliver_own<M: Batched>(
        &mut self,
        number: usize,
        buffer: Buf,
        stride: usize,
        batch: &mut ReceiveBatch<M>,
    ) {
        let connection = &mut self.connections[number];
        if connection.is_closed {
            return;
        }
        let rest = if batch.is_full() || connection.queue.len() > 0 {
            Some(buffer.into_pieces(stride))
        } else {
            let (first, rest) = M::split(buffer, stride, batch.wanted());
            batch.push(first);
            rest
        };
        if let Some(rest) = rest {
            self.queued += rest.len();
            connection.queue.push(rest, usize::MAX);
        }
    }

    /// The number of messages that wait for a connection.
    #[inline]
    pub fn waiting(&self, connection: usize) -> usize {
        self.connections[connection].queue.len()
    }

    /// Removes the next message of a connection.
    #[inline]
    pub fn pop(&mut self, connection: usize) -> Option<Buf> {
        let message = self.connections[connection].queue.pop()?;
        self.queued -= 1;
        Some(message)
    }

    /// Moves messages from a connection's queue behind those of `batch`, as many as that wants.
    #[inline]
    pub fn fill<M: Batched>(&mut self, connection: usize, batch: &mut ReceiveBatch<M>) {
        while !batch.is_full()
            && let Some(messages) = M::take(&mut self.connections[connection].queue, batch.wanted())
        {
            self.queued -= messages.count();
            batch.push(messages);
        }
    }

    /// Ends `batch` if messages wait in the connection's queue: they came before anything that is received from here on.
    #[inline]
    pub fn keep_order<M: Batched>(&self, connection: usize, batch: &mut ReceiveBatch<M>) {
        if !batch.is_full() && self.waiting(connection) > 0 {
            batch.end();
        }
    }

    /// Whether this end closed the connection.
    #[inline]
    pub fn is_closed(&self, connection: usize) -> bool {
        self.connections[connection].is_closed
    }

    /// This end closed the connection: messages that wait for it are dropped, and its futures are woken. Its name stays known
    /// until it is removed, so that late messages of the peer don't make a new connection.
    pub fn close(&mut self, number: usize) {
        let connection = &mut self.connections[number];
        connection.is_closed = true;
        self.queued -= connection.queue.len();
        self.unaccepted -= std::mem::take(&mut connection.unaccepted);
        connection.queue.clear();
        for token in connection.waiters.clone() {
            self.wake(token);
        }
    }

    /// Forgets a connection, and returns the datapath's state of it. No future waits for it any more, since each borrows it.
    pub fn remove(&mut self, number: usize) -> Option<(K, T)> {
        let connection = self.connections.try_remove(number)?;
        self.queued -= connection.queue.len();
        self.unaccepted -= connection.unaccepted;
        let key = match self.by_key.entry(connection.key) {
            Entry::Occupied(entry) => entry.remove_entry().0,
            Entry::Vacant(entry) => entry.into_key(),
        };
        Some((key, connection.state))
    }

    /// Forgets a listener. The connections of its backlog have to be [accepted](Self::accept) and removed before.
    pub fn stop_listening(&mut self, listener: usize) {
        self.listeners.try_remove(listener);
    }

    /// Adds an event that futures can wait for, and returns its number.
    pub fn open_event(&mut self) -> usize {
        self.events.insert(VecDeque::new())
    }

    /// Forgets an event, for which no future waits any more.
    pub fn close_event(&mut self, event: usize) {
        self.events.try_remove(event);
    }

    /// Wakes one future that waits for the event. When it leaves, in vain or not, it wakes the next.
    pub fn announce(&mut self, event: usize) {
        self.notify(Awaited::Event(event));
    }
}

impl<K, T> Connection<K, T> {
    fn new(key: K, state: T, listener: Option<usize>) -> Self {
        let (queue, waiters) = (Queue::default(), VecDeque::new());
        Self { key, state, queue, waiters, unaccepted: 0, listener, is_closed: false }
    }
}

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

#[cfg(test)]
mod tests;
