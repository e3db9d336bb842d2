//! Connections and listeners, the messages that wait for them, and the batch that bypasses the queues.

mod waiting;

use super::queue::Queue;
use super::waiters::{Awaited, Waiters};
use ahash::RandomState;
use arrayvec::ArrayVec;
use bertha_core::Buf;
use bertha_core::buf::Segments;
use slab::Slab;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::hash::Hash;
use std::task::Waker;
pub use waiting::Role;

/// Number of messages that may wait for a connection before it is accepted: strangers must cost little
/// memory.
const UNACCEPTED: usize = 32;

/// Bounds on the queued bytes of a connection before it is accepted, and of all such connections together.
/// The oldest connection is evicted first.
const UNACCEPTED_BYTES: usize = 128 << 10;
const ALL_UNACCEPTED_BYTES: usize = 4 << 20;

/// The key of a connection: the address of the peer, or both addresses.
pub trait Key: Eq + Hash + Clone + Send + Sync + 'static {}

impl<K: Eq + Hash + Clone + Send + Sync + 'static> Key for K {}

/// Bounds on waiting messages and connections.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Number of connections of a listener that may wait to be accepted.
    pub backlog: usize,
    /// Number of messages that may wait for a connection.
    pub queue: usize,
    /// Number of messages that may wait for all connections together. A connection may not occupy more of
    /// this number than it leaves free, so that a connection from which no task receives does not hold all
    /// buffers (dynamic thresholds, Choudhury and Hahne, 1998).
    pub shared: usize,
}

/// State of a connection.
#[derive(Debug)]
struct Connection<K, T> {
    key: K,
    /// State that the datapath keeps for the connection.
    state: T,
    queue: Queue,
    /// Futures that wait for a message.
    waiters: VecDeque<usize>,
    /// Number of bytes in the queue; counted until the connection is accepted.
    unaccepted: usize,
    /// The listener that has not accepted the connection yet; `None` afterwards.
    listener: Option<usize>,
    is_closed: bool,
}

/// A queue of connections that strangers began.
#[derive(Debug, Default)]
struct Listener {
    backlog: VecDeque<usize>,
    waiters: VecDeque<usize>,
}

/// The demultiplexer of a source: sans-IO, and meant to lie behind the source's lock.
///
/// `K` identifies a connection, and `T` is the datapath's own state of each connection.
#[derive(Debug)]
pub struct Demux<K, T = ()> {
    connections: Slab<Connection<K, T>>,
    /// Peers choose their addresses, so the hash has a random seed.
    by_key: HashMap<K, usize, RandomState>,
    /// The connection of the last message: with it, a burst from a single peer costs a single look-up.
    recent: usize,
    listeners: Slab<Listener>,
    /// Futures that wait for each event.
    events: Slab<VecDeque<usize>>,
    waiters: Waiters,
    /// The future that polls the source on behalf of all futures.
    poller: Option<usize>,
    /// True while a future receives without the lock.
    is_receiving: bool,
    /// True if the polling future is polled again without being woken.
    is_busy: bool,
    limits: Limits,
    /// Number of messages in all queues.
    queued: usize,
    /// Number of bytes in the queues of connections that were not accepted yet.
    unaccepted: usize,
    /// Number of messages dropped since the last [`take_evicted`](Self::take_evicted).
    evicted: usize,
    /// Wakers to be called once the lock is free; see [`take_woken`](Self::take_woken).
    woken: Vec<Waker>,
}

/// Connections and their messages.
impl<K: Key, T> Demux<K, T> {
    /// Creates a demultiplexer without connections.
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

    /// Creates a demultiplexer with a single connection, and returns its number. No further connection may be
    /// added, and no key is hashed.
    pub fn of_one(limits: Limits, key: K, state: T) -> (Self, usize) {
        let mut demux = Self { connections: Slab::with_capacity(1), ..Self::new(limits) };
        let connection = demux.connections.insert(Connection::new(key, state, None));
        (demux, connection)
    }

    /// Marks the source as polled all the time: its polling future looks for messages by itself, and
    /// is not woken for messages of its own connection.
    #[must_use]
    pub fn busy(self) -> Self {
        Self { is_busy: true, ..self }
    }

    /// Adds a connection that this end opened, and returns its number. An earlier connection with the same key
    /// gets no further message.
    pub fn connect(&mut self, key: K, state: T) -> usize {
        let connection = self.connections.insert(Connection::new(key.clone(), state, None));
        if self.by_key.insert(key, connection).is_some() {
            self.recent = connection;
        }
        connection
    }

    /// Adds a connection that this end opens from the address of a listener, and returns its number. Returns `None` if there is one with this key,
    /// which may wait to be accepted.
    #[cold]
    pub fn connect_anew(&mut self, key: K, state: T) -> Option<usize> {
        if self.by_key.contains_key(&key) { None } else { Some(self.connect(key, state)) }
    }

    /// Adds a listener, and returns its number.
    pub fn listen(&mut self) -> usize {
        self.listeners.insert(Listener::default())
    }

    /// Returns the connection with this key.
    #[inline]
    pub fn find(&mut self, key: &K) -> Option<usize> {
        if self.connections.get(self.recent).is_some_and(|connection| connection.key == *key) {
            return Some(self.recent);
        }
        let connection = *self.by_key.get(key)?;
        self.recent = connection;
        Some(connection)
    }

    /// Adds a connection that a stranger opened, and puts it into the listener's backlog. A full backlog
    /// evicts its oldest connection, whose peer gives up or asks again. Returns `None` if the listener does
    /// not exist or its backlog has no room at all.
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

    /// Evicts the oldest connection of a listener's backlog. Returns true if the backlog held a connection.
    fn evict(&mut self, listener: usize) -> bool {
        let oldest = self.listeners.get_mut(listener).and_then(|listener| listener.backlog.pop_front());
        let Some(oldest) = oldest else { return false };
        self.evicted += self.connections[oldest].queue.len();
        self.remove(oldest);
        true
    }

    /// Returns the number of messages that were dropped with evicted connections since the last call.
    pub fn take_evicted(&mut self) -> usize {
        std::mem::take(&mut self.evicted)
    }

    /// Accepts the oldest connection of a listener's backlog, which it leaves.
    pub fn accept(&mut self, listener: usize) -> Option<(usize, K)> {
        let number = self.listeners[listener].backlog.pop_front()?;
        let connection = &mut self.connections[number];
        connection.listener = None;
        self.unaccepted -= std::mem::take(&mut connection.unaccepted);
        Some((number, connection.key.clone()))
    }

    /// Returns the key of a connection, and the datapath's state of it.
    #[inline]
    pub fn connection_mut(&mut self, connection: usize) -> (&K, &mut T) {
        let Connection { key, state, .. } = &mut self.connections[connection];
        (key, state)
    }

    /// Returns all connections.
    pub fn connections(&self) -> impl Iterator<Item = (&K, &T)> {
        self.connections.iter().map(|(_, connection)| (&connection.key, &connection.state))
    }

    /// Appends messages that came in a common buffer to a connection's queue, and wakes a future that waits
    /// for them. Returns the number of messages dropped because a bound was reached. After this end closed
    /// the connection, all messages are dropped, and none of them is counted.
    #[inline]
    pub fn deliver(&mut self, number: usize, messages: Segments) -> usize {
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

    /// Queues copies of a stranger's messages, so that each occupies memory of its own length in place of a
    /// buffer of the source.
    #[cold]
    fn deliver_unaccepted(&mut self, number: usize, listener: usize, mut messages: Segments) -> usize {
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
            connection.queue.push(copy.into_segments(len), 1);
            connection.unaccepted += len;
            self.unaccepted += len;
            self.queued += 1;
        }
        messages.len()
    }

    /// Evicts connections of a listener that are older than connection `number` until `len` more bytes of it
    /// fit. Returns true if they fit.
    fn make_room(&mut self, listener: usize, number: usize, len: usize) -> bool {
        while self.unaccepted + len > ALL_UNACCEPTED_BYTES {
            let oldest = self.listeners.get(listener).and_then(|listener| listener.backlog.front());
            if oldest.is_none_or(|oldest| *oldest == number) || !self.evict(listener) {
                return false;
            }
        }
        true
    }

    /// Delivers a buffer to the connection whose future receives at this moment: as many messages as `batch`
    /// wants go there, and the rest into the queue, without a bound, because the future takes them at once.
    /// Each message in the buffer is `stride` bytes long, except for the last, which may be shorter.
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
            Some(buffer.into_segments(stride))
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

    /// Returns the number of messages that wait for a connection.
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

    /// Moves messages from a connection's queue to the end of `batch`, as many as it wants.
    #[inline]
    pub fn fill<M: Batched>(&mut self, connection: usize, batch: &mut ReceiveBatch<M>) {
        while !batch.is_full()
            && let Some(messages) = M::take(&mut self.connections[connection].queue, batch.wanted())
        {
            self.queued -= messages.count();
            batch.push(messages);
        }
    }

    /// Ends `batch` if messages wait in the connection's queue: they precede every message that is received
    /// later.
    #[inline]
    pub fn keep_order<M: Batched>(&self, connection: usize, batch: &mut ReceiveBatch<M>) {
        if !batch.is_full() && self.waiting(connection) > 0 {
            batch.end();
        }
    }

    /// Returns true if this end closed the connection.
    #[inline]
    pub fn is_closed(&self, connection: usize) -> bool {
        self.connections[connection].is_closed
    }

    /// Closes the connection at this end: drops the messages that wait for it, and wakes its futures. Its key
    /// stays known until the connection is removed, so that late messages of the peer don't open a new
    /// connection.
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

    /// Removes a connection, and returns the datapath's state of it. No future waits for the connection at
    /// this time, since each such future borrows it.
    pub fn remove(&mut self, number: usize) -> Option<(K, T)> {
        let connection = self.connections.try_remove(number)?;
        self.queued -= connection.queue.len();
        self.unaccepted -= connection.unaccepted;
        let Connection { key, state, .. } = connection;
        // The key may belong to a later connection.
        if self.by_key.get(&key) == Some(&number) {
            self.by_key.remove(&key);
        }
        Some((key, state))
    }

    /// Removes a listener. The connections of its backlog have to be [accepted](Self::accept) and removed
    /// before.
    pub fn stop_listening(&mut self, listener: usize) {
        self.listeners.try_remove(listener);
    }

    /// Adds an event that futures can wait for, and returns its number.
    pub fn open_event(&mut self) -> usize {
        self.events.insert(VecDeque::new())
    }

    /// Removes an event, for which no future waits any more.
    pub fn close_event(&mut self, event: usize) {
        self.events.try_remove(event);
    }

    /// Wakes a future that waits for the event. When this future leaves, in vain or not, it wakes the next.
    pub fn announce(&mut self, event: usize) {
        self.notify(Awaited::Event(event));
    }
}

impl<K, T> Connection<K, T> {
    fn new(key: K, state: T, listener: Option<usize>) -> Self {
        let queue = Queue::default();
        let waiters = VecDeque::new();
        Self { key, state, queue, waiters, unaccepted: 0, listener, is_closed: false }
    }
}

/// Capacity of a [`ReceiveBatch`].
pub const BATCH: usize = 32;

/// Messages for the connection whose future receives. They come here directly, without its queue and without
/// a waker. The batch lives on the stack of the receiving call and needs no allocation.
pub struct ReceiveBatch<M = Buf> {
    messages: ArrayVec<M, BATCH>,
    connection: Option<usize>,
    wanted: usize,
}

/// A single message, or several messages that came in a common buffer.
pub trait Batched: Sized + Sealed {
    /// Returns the number of messages.
    fn count(&self) -> usize;

    /// Removes the next messages of a queue, at most `max`.
    #[doc(hidden)]
    fn take(queue: &mut Queue, max: usize) -> Option<Self>;

    /// Splits off the first messages of a buffer, at most `max`, and returns them and the rest. Each message
    /// is `stride` bytes long, except for the last, which may be shorter.
    #[doc(hidden)]
    fn split(buffer: Buf, stride: usize, max: usize) -> (Self, Option<Segments>);
}

/// Seals [`Batched`]: a queue holds messages of these two types only.
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
    fn split(buffer: Buf, stride: usize, _: usize) -> (Self, Option<Segments>) {
        if buffer.len() <= stride { (buffer, None) } else { split_first(buffer, stride) }
    }
}

#[cold]
fn split_first(mut buffer: Buf, stride: usize) -> (Buf, Option<Segments>) {
    match buffer.split_to(stride) {
        Ok(first) => (first, Some(buffer.into_segments(stride))),
        // This does not happen: the buffer is longer than `stride`.
        Err(_) => (buffer, None),
    }
}

impl Sealed for Segments {}

impl Batched for Segments {
    #[inline]
    fn count(&self) -> usize {
        self.len()
    }

    #[inline]
    fn take(queue: &mut Queue, max: usize) -> Option<Self> {
        queue.take(max)
    }

    #[inline]
    fn split(buffer: Buf, stride: usize, max: usize) -> (Self, Option<Segments>) {
        let mut messages = buffer.into_segments(stride);
        if messages.len() <= max {
            return (messages, None);
        }
        (messages.split_first(max), Some(messages))
    }
}

impl<M: Batched> ReceiveBatch<M> {
    /// Creates a batch with room for at most `max` messages of `connection`.
    #[inline]
    pub fn new(connection: usize, max: usize) -> Self {
        Self { messages: ArrayVec::new_const(), connection: Some(connection), wanted: max }
    }

    /// Creates an empty batch for a future that waits for no connection's messages: every message goes into a
    /// queue.
    #[inline]
    pub fn none() -> Self {
        Self { messages: ArrayVec::new_const(), connection: None, wanted: 0 }
    }

    /// Returns the connection whose messages are wanted.
    #[inline]
    pub fn connection(&self) -> Option<usize> {
        self.connection
    }

    /// Returns the number of further messages that are wanted.
    #[inline]
    pub fn wanted(&self) -> usize {
        self.wanted
    }

    /// Returns true if no further message may be pushed.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.wanted == 0 || self.messages.is_full()
    }

    /// Ends the batch: no further message is wanted.
    #[inline]
    pub fn end(&mut self) {
        self.wanted = 0;
    }

    /// Appends messages to a batch that is not full: at most [`wanted`](Self::wanted) of them.
    #[inline]
    pub fn push(&mut self, messages: M) {
        debug_assert!(!self.is_full() && messages.count() <= self.wanted);
        self.wanted = self.wanted.saturating_sub(messages.count());
        let pushed = self.messages.try_push(messages);
        debug_assert!(pushed.is_ok());
    }

    /// Returns true if the batch holds no messages.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Removes the last item: the only message of a batch of one message.
    #[inline]
    pub fn pop(&mut self) -> Option<M> {
        self.messages.pop()
    }

    /// Removes all items in their order. The iterator knows its length, so that a vector reserves its memory
    /// in one step.
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
