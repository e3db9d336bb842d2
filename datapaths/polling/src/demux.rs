//! Connections, listeners, the messages that wait for them, and the futures that do.

use crate::batch::{Batched, ReceiveBatch};
use crate::queue::Queue;
use crate::waiters::{Awaited, WaiterKey, Waiters};
use ahash::RandomState;
use bertha_core::Buf;
use bertha_core::buf::Pieces;
use slab::Slab;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::task::Waker;

/// The number of messages of a connection that wait until it is accepted: strangers are to cost little memory.
const UNACCEPTED: usize = 32;

/// The bytes of all connections that were not accepted yet. None of them takes more than it leaves to the others.
const UNACCEPTED_BYTES: usize = 4 << 20;

/// A name of connections: the address of the peer, or both addresses.
pub trait Key: Eq + Hash + Clone + Send + Sync + 'static {}

impl<K: Eq + Hash + Clone + Send + Sync + 'static> Key for K {}

/// Bounds of what may wait.
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

/// How a future waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It never polls: it waits at a source that others poll.
    Onlooker,
    /// Another future polls at this moment. This one may be [promoted](Demux::promote) later.
    Follower,
    /// It polls if no other future does, and it takes over when it begins to wait: a future that has just dealt with a message is
    /// the most likely to get the next one.
    Poller,
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
    is_accepted: bool,
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
/// `K` names a connection, and `T` is what the datapath keeps for each.
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
            woken: Vec::new(),
        }
    }

    /// Without connections but one, whose number is returned; there will be no other. Nothing is hashed.
    pub fn of_one(limits: Limits, key: K, state: T) -> (Self, usize) {
        let mut demux = Self { connections: Slab::with_capacity(1), ..Self::new(limits) };
        let connection = demux.connections.insert(Connection::new(key, state, true));
        (demux, connection)
    }

    /// For a source that is polled all the time: the future that polls looks for itself, and is not woken for messages of its own.
    #[must_use]
    pub fn busy(self) -> Self {
        Self { is_busy: true, ..self }
    }

    /// Adds a connection that this end began, and returns its number.
    pub fn connect(&mut self, key: K, state: T) -> usize {
        let connection = self.connections.insert(Connection::new(key.clone(), state, true));
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

    /// Adds a connection that a stranger begins, and puts it into the listener's backlog. `None` if that is full.
    pub fn admit(&mut self, listener: usize, key: K, state: T) -> Option<usize> {
        let backlog = &mut self.listeners.get_mut(listener)?.backlog;
        if backlog.len() >= self.limits.backlog {
            return None;
        }
        let connection = self.connections.insert(Connection::new(key.clone(), state, false));
        backlog.push_back(connection);
        self.by_key.insert(key, connection);
        self.recent = connection;
        self.notify(Awaited::Listener(listener));
        Some(connection)
    }

    /// Removes the connection that has waited longest from a listener's backlog: it is accepted.
    pub fn accept(&mut self, listener: usize) -> Option<(usize, K)> {
        let number = self.listeners[listener].backlog.pop_front()?;
        let connection = &mut self.connections[number];
        connection.is_accepted = true;
        self.unaccepted -= std::mem::take(&mut connection.unaccepted);
        Some((number, connection.key.clone()))
    }

    /// The name of a connection, and what the datapath keeps for it.
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
        if !connection.is_accepted {
            return self.deliver_unaccepted(number, messages);
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
    fn deliver_unaccepted(&mut self, number: usize, mut messages: Pieces) -> usize {
        let connection = &mut self.connections[number];
        let max = UNACCEPTED.min(self.limits.queue);
        while connection.queue.len() < max.min(self.limits.shared.saturating_sub(self.queued))
            && let Some(message) = messages.next()
        {
            let (len, left) = (message.len(), UNACCEPTED_BYTES.saturating_sub(self.unaccepted));
            let copy =
                if connection.unaccepted + len <= left { Buf::copy_of(&message, 0).ok() } else { None };
            let Some(copy) = copy else { return 1 + messages.len() };
            connection.queue.push(copy.into_pieces(len), 1);
            connection.unaccepted += len;
            self.unaccepted += len;
            self.queued += 1;
        }
        messages.len()
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

    /// Forgets a connection, and returns what the datapath kept for it. No future waits for it any more, since each borrows it.
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

    /// Wakes one future that waits for the event. When it leaves, with or without what it came for, it wakes the next.
    pub fn announce(&mut self, event: usize) {
        self.notify(Awaited::Event(event));
    }
}

/// Futures that wait, and the one that polls.
impl<K: Key, T> Demux<K, T> {
    /// Whether the future waits while another one polls.
    #[inline]
    pub fn follows(&self, key: &WaiterKey) -> bool {
        key.waits() && self.poller != key.token
    }

    /// Whether other futures than this one wait.
    #[inline]
    pub fn others_wait(&self, key: &WaiterKey) -> bool {
        self.waiters.len() > usize::from(key.waits())
    }

    /// The waker of the future that polls.
    pub fn poller(&self) -> Option<Waker> {
        self.poller.map(|token| self.waiters.waker(token).clone())
    }

    /// Makes the caller the one that receives without the lock, unless another does. It calls
    /// [`end_receiving`](Self::end_receiving) soon, without waiting in between.
    #[inline]
    pub fn begin_receiving(&mut self) -> bool {
        !std::mem::replace(&mut self.is_receiving, true)
    }

    /// The caller has received, and everything that arrived was delivered.
    #[inline]
    pub fn end_receiving(&mut self) {
        self.is_receiving = false;
    }

    /// The future waits. Returns whether it is the one that polls.
    pub fn wait(&mut self, key: &mut WaiterKey, waker: &Waker, role: Role) -> bool {
        let may_poll = role != Role::Onlooker;
        let (token, is_new) = match key.token {
            Some(token) => {
                self.waiters.renew(token, waker, may_poll);
                (token, false)
            }
            None => {
                let token = self.waiters.join(waker, may_poll);
                key.token = Some(token);
                self.waiters_of(key.awaited).push_back(token);
                (token, true)
            }
        };
        let polls = match role {
            Role::Poller => is_new || self.poller.is_none_or(|poller| poller == token),
            Role::Onlooker | Role::Follower => false,
        };
        if polls {
            self.poller = Some(token);
        } else if self.poller == Some(token) {
            // The future that receives at this moment sees to another one.
            self.poller = None;
        }
        polls
    }

    fn waiters_of(&mut self, awaited: Awaited) -> &mut VecDeque<usize> {
        match awaited {
            Awaited::Connection(connection) => &mut self.connections[connection].waiters,
            Awaited::Listener(listener) => &mut self.listeners[listener].waiters,
            Awaited::Event(event) => &mut self.events[event],
        }
    }

    /// The future waits no longer, with or without what it waited for: others get what it left.
    #[inline]
    pub fn leave(&mut self, key: &mut WaiterKey) {
        if key.waits() {
            self.leave_list(key);
        }
    }

    /// Out of line: a future that finds a message at once has not waited.
    #[inline(never)]
    fn leave_list(&mut self, key: &mut WaiterKey) {
        let Some(token) = key.token.take() else { return };
        self.waiters.leave(token);
        let waiters = self.waiters_of(key.awaited);
        waiters.retain(|&other| other != token);
        let others = !waiters.is_empty();
        if self.poller == Some(token) {
            self.poller = None;
        }
        let left = others
            && match key.awaited {
                Awaited::Connection(connection) => self.connections[connection].queue.len() > 0,
                Awaited::Listener(listener) => !self.listeners[listener].backlog.is_empty(),
                // Others know; the next one looks.
                Awaited::Event(_) => true,
            };
        if left {
            self.notify(key.awaited);
        }
    }

    /// Whether futures wait and none of them polls or receives.
    #[inline]
    pub fn lacks_poller(&self) -> bool {
        self.waiters.len() > 0 && self.poller.is_none() && !self.is_receiving
    }

    /// Makes a future that waits the one that polls, if none does. `arm` is called with its waker: it returns true if something
    /// will call that once there is anything to receive; otherwise the future is woken. Returns whether a future waits that polls.
    pub fn promote(&mut self, arm: impl FnOnce(&Waker) -> bool) -> bool {
        if self.poller.is_some() || self.is_receiving {
            return true;
        }
        let Some(token) = self.waiters.newest_that_may_poll() else { return false };
        self.poller = Some(token);
        if !arm(self.waiters.waker(token)) {
            self.wake(token);
        }
        true
    }

    /// Wakes one future that awaits this, of those that were not woken yet.
    pub fn notify(&mut self, awaited: Awaited) {
        let waiting = match awaited {
            Awaited::Connection(connection) => &self.connections[connection].waiters,
            Awaited::Listener(listener) => &self.listeners[listener].waiters,
            Awaited::Event(event) => &self.events[event],
        };
        if let Some(&token) = waiting.iter().find(|&&token| self.waiters.notify(token))
            && (!self.is_busy || self.poller != Some(token))
        {
            self.woken.push(self.waiters.waker(token).clone());
        }
    }

    fn wake(&mut self, token: usize) {
        self.waiters.notify(token);
        self.woken.push(self.waiters.waker(token).clone());
    }

    /// Whether any future is to be woken once the lock is free.
    #[inline]
    pub fn wakes(&self) -> bool {
        !self.woken.is_empty()
    }

    /// The wakers that are to be called once the lock is free.
    #[inline]
    pub fn take_woken(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.woken)
    }

    /// Takes the emptied list of [`take_woken`](Self::take_woken) back, so that waking does not allocate.
    pub fn reuse(&mut self, emptied: Vec<Waker>) {
        if self.woken.capacity() == 0 {
            self.woken = emptied;
        }
    }
}

impl<K, T> Connection<K, T> {
    fn new(key: K, state: T, is_accepted: bool) -> Self {
        let (queue, waiters) = (Queue::default(), VecDeque::new());
        Self { key, state, queue, waiters, unaccepted: 0, is_accepted, is_closed: false }
    }
}

#[cfg(test)]
mod tests;
