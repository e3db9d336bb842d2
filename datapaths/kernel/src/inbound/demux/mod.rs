//! Which datagram of a shared socket belongs to whom, and who waits for it.
//!
//! Sans-IO: knows neither the socket nor the reactor. A future that wants a message polls the socket itself, keeps
//! what is its own and leaves the rest here for the others. That is three roles:
//!
//! ```text
//!              begin                      end: nothing arrived, nobody leads
//!   visitor -----------> receiving one -----------------------------------> leader
//!      |                      |                                               |
//!      | somebody receives    | end: nothing arrived, somebody leads          | woken by the reactor
//!      +------> follower <----+                                               v
//!                   |  woken by a delivery, or promoted to leader          visitor again
//!                   +----------------------------------------------------> visitor again
//! ```
//!
//! At most one future receives at a time, and at most one, the leader, is registered with the reactor. The invariant
//! that rules out lost wake-ups, true whenever the lock around this struct is free:
//!
//! > If anyone waits and nobody is receiving, there is a leader; it waits, and since it was last polled it was either
//! > registered with the reactor or woken.
//!
//! A follower never needs more: whoever receives its message wakes it, and when the leader leaves (with a message,
//! or dropped) it promotes the one that has waited longest. A leader that has to follow steps down, since whoever is
//! receiving will see to a new one.

mod counters;
mod queue;
#[cfg(test)]
mod tests;
mod waiters;

use crate::window::WINDOW;
use ahash::RandomState;
use bertha_core::Buf;
use bertha_core::buf::Pieces;
pub use counters::Counters;
use queue::Queue;
use slab::Slab;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::io;
use std::iter::from_fn;
use std::task::{Poll, Waker};
pub(crate) use waiters::Owner;
use waiters::Waiters;

/// How a peer is addressed: a socket address, or the path of a socket.
pub trait Peer: Eq + Hash + Clone + Send + Sync + 'static {}

impl<A: Eq + Hash + Clone + Send + Sync + 'static> Peer for A {}

/// How much may wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Connections that nobody accepted yet.
    pub(crate) backlog: usize,
    /// Messages of one connection that nobody took yet.
    pub(crate) queue: usize,
}

/// Registers a waker with the reactor, in place of any other: `Pending` if it will be called.
pub(crate) trait Reactor {
    fn register(&self, waker: &Waker) -> Poll<io::Result<()>>;
}

/// How many buffers a receiving call may use. Two for single messages: the empty one says that no more is there.
pub(crate) const WIDTHS: [usize; 3] = [2, 8, WINDOW];

/// How many messages of a connection wait until it is accepted: strangers are to cost little memory.
const UNACCEPTED: usize = 16;

/// A future's place among those that wait. It must `leave` before it is dropped.
#[derive(Debug)]
pub(crate) struct Ticket {
    owner: Owner,
    token: Option<usize>,
}

impl Ticket {
    pub(crate) fn new(owner: Owner) -> Self {
        Self { owner, token: None }
    }

    /// Whether it is among those that wait.
    pub(crate) fn waits(&self) -> bool {
        self.token.is_some()
    }
}

/// One connection.
#[derive(Debug)]
struct Slot<A> {
    peer: A,
    queue: Queue,
    waiters: VecDeque<usize>,
    accepted: bool,
    closed: bool,
}

impl<A> Slot<A> {
    fn new(peer: A, accepted: bool) -> Self {
        Self { peer, queue: Queue::default(), waiters: VecDeque::new(), accepted, closed: false }
    }
}

/// Connections by the address of their peer, the messages that wait for them, and the futures that wait.
pub(crate) struct Demux<A: Peer> {
    slots: Slab<Slot<A>>,
    routes: Routes<A>,
    /// The connection that the last datagram belonged to: a burst from one peer costs one look-up.
    recent: usize,
    acceptors: VecDeque<usize>,
    waiters: Waiters,
    receiving: bool,
    width: usize,
    /// The last receive filled all its buffers.
    full: bool,
    leader: Option<usize>,
    limits: Limits,
    counters: Counters,
    /// To be woken once the lock is free; see [`take_woken`](Self::take_woken).
    woken: Vec<Waker>,
}

enum Routes<A> {
    /// All datagrams belong to the one connection there is: the socket is connected.
    One,
    /// By address; strangers make connections.
    ByPeer { table: HashMap<A, usize, RandomState>, backlog: VecDeque<usize>, accepting: bool },
}

impl<A: Peer> Demux<A> {
    /// For a socket that listens. Peers choose their addresses, so the table's hash has a random seed.
    pub(crate) fn listening(limits: Limits) -> Self {
        let table = HashMap::with_hasher(RandomState::new());
        Self::new(limits, Routes::ByPeer { table, backlog: VecDeque::new(), accepting: true })
    }

    /// For a connected socket, with its one connection, whose number is returned.
    pub(crate) fn connected(peer: A, limits: Limits) -> (Self, usize) {
        let mut demux = Self::new(limits, Routes::One);
        // There will be no other.
        demux.slots = Slab::with_capacity(1);
        let connection = demux.slots.insert(Slot::new(peer, true));
        (demux, connection)
    }

    fn new(limits: Limits, routes: Routes<A>) -> Self {
        Self {
            slots: Slab::new(),
            routes,
            recent: 0,
            acceptors: VecDeque::new(),
            waiters: Waiters::default(),
            receiving: false,
            width: WIDTHS[0],
            full: false,
            leader: None,
            limits,
            counters: Counters::default(),
            woken: Vec::new(),
        }
    }

    /// The next message of a connection, if there is one; `Some(None)` if there will be none, since this end closed it.
    #[inline]
    pub(crate) fn next(&mut self, connection: usize) -> Option<Option<Buf>> {
        let slot = &mut self.slots[connection];
        match slot.queue.pop() {
            None if !slot.closed => None,
            message => Some(message),
        }
    }

    /// Removes up to `limit` messages of a connection, as they came in buffers.
    pub(crate) fn drain(&mut self, connection: usize, mut limit: usize) -> impl Iterator<Item = Pieces> {
        let queue = &mut self.slots[connection].queue;
        from_fn(move || {
            let messages = queue.take(limit)?;
            limit -= messages.len();
            Some(messages)
        })
    }

    /// Whether this end closed the connection.
    #[inline]
    pub(crate) fn is_closed(&self, connection: usize) -> bool {
        self.slots[connection].closed
    }

    /// The connection that has waited longest to be accepted.
    pub(crate) fn accept(&mut self) -> Option<(usize, A)> {
        let Routes::ByPeer { backlog, .. } = &mut self.routes else { return None };
        let connection = backlog.pop_front()?;
        let slot = &mut self.slots[connection];
        slot.accepted = true;
        Some((connection, slot.peer.clone()))
    }

    /// Messages that were dropped so far.
    pub(crate) fn counters(&mut self) -> &mut Counters {
        &mut self.counters
    }

    /// Makes the caller the one that receives, if nobody is. It must `end` soon, without waiting in between.
    #[inline]
    pub(crate) fn begin(&mut self) -> bool {
        !std::mem::replace(&mut self.receiving, true)
    }

    /// How many buffers to receive with.
    #[inline]
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// The caller has received with `width` buffers; what arrived, in `filled` of them, was delivered.
    ///
    /// The next one gets more buffers if all were filled twice in a row, and fewer if most were not: a ping-pong pays
    /// for two buffers, a burst for few system calls.
    #[inline]
    pub(crate) fn end(&mut self, width: usize, filled: usize) {
        self.receiving = false;
        let full = filled == width;
        if full && self.full {
            self.width = WIDTHS.into_iter().find(|&wider| wider > width).unwrap_or(width);
        } else if filled * 4 < width && filled > 0 {
            self.width = WIDTHS.into_iter().rev().find(|&narrower| narrower < width).unwrap_or(width);
        }
        self.full = full;
    }

    /// Sorts in one buffer of messages, each `stride` bytes long but for the last, all from one peer.
    ///
    /// The receiver's own connection takes them all, since its queue was empty and it is about to take from it; the
    /// others' queues are bounded.
    pub(crate) fn deliver(&mut self, from: &A, stride: usize, messages: Buf, receiver: Owner) {
        let Some(connection) = self.route(from) else {
            self.counters.unknown += messages.into_pieces(stride).len() as u64;
            return;
        };
        self.recent = connection;
        let own = receiver == Owner::Connection(connection);
        let slot = &mut self.slots[connection];
        let limit = if slot.accepted { self.limits.queue } else { self.limits.queue.min(UNACCEPTED) };
        let room = if own { usize::MAX } else { limit.saturating_sub(slot.queue.len()) };
        if slot.closed {
            return;
        }
        self.counters.overflow += slot.queue.push(messages.into_pieces(stride), room) as u64;
        if !own {
            self.notify(Owner::Connection(connection));
        }
    }

    /// The connection of `from`; a new one if there is none yet and it may wait to be accepted.
    fn route(&mut self, from: &A) -> Option<usize> {
        let Routes::ByPeer { table, backlog, accepting } = &mut self.routes else { return Some(0) };
        if self.slots.get(self.recent).is_some_and(|slot| slot.peer == *from) {
            return Some(self.recent);
        }
        if let Some(&connection) = table.get(from) {
            return Some(connection);
        }
        if !*accepting || backlog.len() >= self.limits.backlog {
            return None;
        }
        let connection = self.slots.insert(Slot::new(from.clone(), false));
        table.insert(from.clone(), connection);
        backlog.push_back(connection);
        self.notify(Owner::Acceptor);
        Some(connection)
    }

    /// The waker of the future that leads.
    pub(crate) fn leader(&self) -> Option<Waker> {
        self.leader.map(|token| self.waiters.waker(token).clone())
    }

    /// Whether the future would be the leader if it waited now.
    #[inline]
    pub(crate) fn may_lead(&self, ticket: &Ticket) -> bool {
        !self.receiving && (self.leader.is_none() || self.leader == ticket.token)
    }

    /// The future waits while somebody else receives.
    pub(crate) fn follow(&mut self, ticket: &mut Ticket, waker: &Waker) {
        let token = self.wait(ticket, waker);
        if self.leader == Some(token) {
            self.leader = None;
        }
    }

    /// The future waits, after it received nothing. `Ready` if it has to receive once more, or the reactor's error.
    pub(crate) fn lead(
        &mut self,
        ticket: &mut Ticket,
        waker: &Waker,
        reactor: &impl Reactor,
    ) -> Poll<io::Result<()>> {
        let token = self.wait(ticket, waker);
        match self.leader {
            Some(leader) if leader != token => Poll::Pending,
            _ => {
                self.leader = Some(token);
                reactor.register(waker)
            }
        }
    }

    fn wait(&mut self, ticket: &mut Ticket, waker: &Waker) -> usize {
        if let Some(token) = ticket.token {
            self.waiters.renew(token, waker);
            return token;
        }
        let token = self.waiters.join(ticket.owner, waker);
        ticket.token = Some(token);
        self.queue_of(ticket.owner).push_back(token);
        token
    }

    fn queue_of(&mut self, owner: Owner) -> &mut VecDeque<usize> {
        match owner {
            Owner::Connection(connection) => &mut self.slots[connection].waiters,
            Owner::Acceptor => &mut self.acceptors,
        }
    }

    /// The future waits no longer, with or without what it waited for: others of its owner get what it left, and if it
    /// led, another one does.
    #[inline]
    pub(crate) fn leave(&mut self, ticket: &mut Ticket, reactor: &impl Reactor) {
        if let Some(token) = ticket.token.take() {
            self.waiters.leave(token);
            self.queue_of(ticket.owner).retain(|&other| other != token);
            if self.leader == Some(token) {
                self.leader = None;
            }
        }
        if self.waiters.first().is_some() {
            self.hand_over(ticket.owner, reactor);
        }
    }

    fn hand_over(&mut self, owner: Owner, reactor: &impl Reactor) {
        let left = match owner {
            Owner::Connection(connection) => self.slots[connection].queue.len() > 0,
            Owner::Acceptor => {
                matches!(&self.routes, Routes::ByPeer { backlog, .. } if !backlog.is_empty())
            }
        };
        if left {
            self.notify(owner);
        }
        if self.receiving || self.leader.is_some() {
            return;
        }
        if let Some(token) = self.waiters.first() {
            self.leader = Some(token);
            if reactor.register(self.waiters.waker(token)).is_ready() {
                self.wake(token);
            }
        }
    }

    /// Wakes one future of `owner` that was not woken yet.
    fn notify(&mut self, owner: Owner) {
        let waiting = match owner {
            Owner::Connection(connection) => &self.slots[connection].waiters,
            Owner::Acceptor => &self.acceptors,
        };
        if let Some(&token) = waiting.iter().find(|&&token| self.waiters.notify(token)) {
            self.woken.push(self.waiters.waker(token).clone());
        }
    }

    fn wake(&mut self, token: usize) {
        self.waiters.notify(token);
        self.woken.push(self.waiters.waker(token).clone());
    }

    /// Whether anyone is to be woken once the lock is free.
    #[inline]
    pub(crate) fn wakes(&self) -> bool {
        !self.woken.is_empty()
    }

    /// What is to be woken once the lock is free.
    #[inline]
    pub(crate) fn take_woken(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.woken)
    }

    /// Gives the emptied list of [`take_woken`](Self::take_woken) back for later, so that waking does not allocate.
    pub(crate) fn reuse(&mut self, emptied: Vec<Waker>) {
        if self.woken.capacity() == 0 {
            self.woken = emptied;
        }
    }

    /// This end closed the connection: what waits for it is dropped, and its futures are woken. Its address stays
    /// known until it is removed, so that late messages of the peer don't make a new connection.
    pub(crate) fn close(&mut self, connection: usize) {
        let slot = &mut self.slots[connection];
        slot.closed = true;
        slot.queue.clear();
        for token in slot.waiters.clone() {
            self.wake(token);
        }
    }

    /// Forgets the connection. No future of it waits any more, since each borrows it.
    pub(crate) fn remove(&mut self, connection: usize) {
        let Some(slot) = self.slots.try_remove(connection) else { return };
        if let Routes::ByPeer { table, .. } = &mut self.routes
            && let Entry::Occupied(entry) = table.entry(slot.peer)
        {
            entry.remove();
        }
    }

    /// No more connections: those in the backlog are forgotten, and strangers' datagrams dropped.
    pub(crate) fn stop_accepting(&mut self) {
        while let Some((connection, _)) = self.accept() {
            self.remove(connection);
        }
        if let Routes::ByPeer { accepting, .. } = &mut self.routes {
            *accepting = false;
        }
    }
}
