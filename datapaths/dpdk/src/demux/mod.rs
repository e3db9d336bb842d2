//! Which datagram belongs to whom, and who waits for it.
//!
//! Sans-IO: knows neither the port nor the clock. Everything that arrives at the port comes through here, so the table has all
//! connections of the process, those that connected and those that were accepted.
//!
//! At most one of the futures that wait leads: it polls the port for all. It is the one that began to wait last, since who has
//! just dealt with a message is most likely to get the next. When it leaves with its message, nobody leads until it is back,
//! or until the keeper sees to another: handing the lead on at once would wake a task, perhaps in another thread, for each
//! message.

mod slot;
#[cfg(test)]
mod tests;
mod waiters;

use ahash::RandomState;
use bertha_core::Buf;
use bertha_netstack::{Flow, Path, Ports};
use slab::Slab;
use slot::Slot;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Waker;
use waiters::Waiters;
pub(crate) use waiters::{Owner, Ticket};

/// How many messages of a connection wait until it is accepted: strangers are to cost little memory.
const UNACCEPTED: usize = 32;

/// How much may wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Connections of one listener that nobody accepted yet.
    pub(crate) backlog: usize,
    /// Messages of one connection that nobody took yet.
    pub(crate) queue: usize,
    /// The same of all connections. None takes more of them than it leaves to others, so that one that is not received from does
    /// not keep the buffers of all (dynamic thresholds, Choudhury and Hahne, 1998).
    pub(crate) shared: usize,
}

/// Why a datagram was not delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Undelivered {
    /// Nobody has this port: the sender is to be told.
    Closed,
    /// The port is in use, and takes no strangers at the moment.
    Unknown,
    /// The connection's queue is full, or this end closed it.
    Overflow,
}

/// Why a connection gets no more messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// This end closed the connection.
    Closed,
    /// The peer said that nobody is there.
    Unreachable,
}

/// Where strangers become connections.
#[derive(Debug)]
struct Acceptor {
    port: u16,
    backlog: VecDeque<usize>,
    waiting: VecDeque<usize>,
}

/// Connections by their flow, listeners by their port, the messages that wait, and the futures that do.
#[derive(Debug)]
pub(crate) struct Demux {
    slots: Slab<Slot>,
    /// Peers choose their addresses, so the hash has a random seed.
    flows: HashMap<Flow, usize, RandomState>,
    /// The connection that the last datagram belonged to: a burst from one peer costs one look-up.
    recent: usize,
    acceptors: Slab<Acceptor>,
    listening: HashMap<u16, usize, RandomState>,
    ports: Ports,
    /// Who waits for what is not in this table, at places that others announce at.
    places: Slab<VecDeque<usize>>,
    waiters: Waiters,
    leader: Option<usize>,
    limits: Limits,
    /// How many messages are in queues.
    queued: usize,
    /// To be woken once the lock is free; see [`take_woken`](Self::take_woken).
    woken: Vec<Waker>,
}

impl Demux {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            slots: Slab::new(),
            flows: HashMap::with_hasher(RandomState::new()),
            recent: 0,
            acceptors: Slab::new(),
            listening: HashMap::with_hasher(RandomState::new()),
            ports: Ports::new(),
            places: Slab::new(),
            waiters: Waiters::default(),
            leader: None,
            limits,
            queued: 0,
            woken: Vec::new(),
        }
    }

    /// A connection to `peer` from a port of its own, which `random` chooses of those that `suit`; nothing if there is no port
    /// left.
    pub(crate) fn connect(
        &mut self,
        peer: SocketAddr,
        random: u64,
        suits: impl Fn(u16) -> bool,
    ) -> Option<(usize, u16)> {
        let port = self.ports.take_any(random, suits)?;
        let flow = Flow::new(peer, port);
        let slot = self.slots.insert(Slot::new(flow, true, true));
        self.flows.insert(flow, slot);
        Some((slot, port))
    }

    /// Listens at `port`, or at one that `random` chooses if it is zero; nothing if it is in use, or none is left.
    pub(crate) fn listen(&mut self, port: u16, random: u64) -> Option<(usize, u16)> {
        let port = match port {
            0 => self.ports.take_any(random, |_| true)?,
            port if self.ports.take(port) => port,
            _ => return None,
        };
        let acceptor = Acceptor { port, backlog: VecDeque::new(), waiting: VecDeque::new() };
        let acceptor = self.acceptors.insert(acceptor);
        self.listening.insert(port, acceptor);
        Some((acceptor, port))
    }

    /// Why there will be no message, if nothing waits.
    #[inline]
    pub(crate) fn ending(&mut self, connection: usize) -> Option<Ending> {
        self.slots[connection].ending()
    }

    /// How many messages wait for a connection.
    #[inline]
    pub(crate) fn waiting(&self, connection: usize) -> usize {
        self.slots[connection].queue.len()
    }

    /// The first messages that wait for a connection, at most `limit`. They are taken even if not all are looked at.
    #[inline]
    pub(crate) fn take(&mut self, connection: usize, limit: usize) -> impl Iterator<Item = Buf> {
        let queue = &mut self.slots[connection].queue;
        let count = queue.len().min(limit);
        self.queued -= count;
        queue.drain(..count)
    }

    /// The connection that has waited longest to be accepted.
    pub(crate) fn accept(&mut self, acceptor: usize) -> Option<(usize, SocketAddr)> {
        let connection = self.acceptors[acceptor].backlog.pop_front()?;
        let slot = &mut self.slots[connection];
        slot.accepted = true;
        Some((connection, slot.flow.peer()))
    }

    /// The flow of a connection, and the headers that its last message had.
    #[inline]
    pub(crate) fn path_mut(&mut self, connection: usize) -> (Flow, &mut Option<Path>) {
        let slot = &mut self.slots[connection];
        (slot.flow, &mut slot.path)
    }

    /// Whom a datagram of `flow` belongs to; a new connection if there is none yet and it may wait to be accepted.
    #[inline]
    pub(crate) fn find(&mut self, flow: Flow) -> Result<usize, Undelivered> {
        if self.slots.get(self.recent).is_some_and(|slot| slot.flow == flow) {
            return Ok(self.recent);
        }
        self.find_in_table(flow)
    }

    fn find_in_table(&mut self, flow: Flow) -> Result<usize, Undelivered> {
        if let Some(&connection) = self.flows.get(&flow) {
            self.recent = connection;
            return Ok(connection);
        }
        let Some(&number) = self.listening.get(&flow.local_port) else {
            let used = self.ports.is_used(flow.local_port);
            return Err(if used { Undelivered::Unknown } else { Undelivered::Closed });
        };
        let acceptor = &mut self.acceptors[number];
        if acceptor.backlog.len() >= self.limits.backlog {
            return Err(Undelivered::Unknown);
        }
        let connection = self.slots.insert(Slot::new(flow, false, false));
        acceptor.backlog.push_back(connection);
        self.flows.insert(flow, connection);
        self.ports.share(flow.local_port);
        self.notify(Owner::Acceptor(number));
        Ok(connection)
    }

    /// Gives a message to the connection that [`find`](Self::find) found for it.
    #[inline]
    pub(crate) fn deliver(&mut self, connection: usize, message: Buf) -> Result<(), Undelivered> {
        let slot = &mut self.slots[connection];
        let limit = if slot.accepted { self.limits.queue } else { self.limits.queue.min(UNACCEPTED) };
        let left = self.limits.shared.saturating_sub(self.queued);
        if slot.closed || slot.queue.len() >= limit.min(left) {
            return Err(Undelivered::Overflow);
        }
        self.queued += 1;
        slot.queue.push_back(message);
        if !slot.waiting.is_empty() {
            self.notify(Owner::Connection(connection));
        }
        Ok(())
    }

    /// The peer says that nobody is there. Concerns who connected; a listener's peers come and go.
    pub(crate) fn fail(&mut self, flow: Flow) {
        if let Some(&connection) = self.flows.get(&flow)
            && self.slots[connection].connected
        {
            self.slots[connection].unreachable = true;
            self.notify(Owner::Connection(connection));
        }
    }

    /// Whether there is a connection with this flow.
    pub(crate) fn knows(&self, flow: Flow) -> bool {
        self.flows.contains_key(&flow)
    }

    /// Where the largest message of a connection stands; see [`set_most`](Self::set_most).
    pub(crate) fn most(&self, connection: usize) -> Arc<AtomicUsize> {
        self.slots[connection].most.clone()
    }

    /// Notes for all connections to `peer` the largest message that the path carries, in bytes.
    pub(crate) fn set_most(&self, peer: IpAddr, most: usize) {
        for (_, slot) in self.slots.iter().filter(|(_, slot)| slot.flow.peer().ip() == peer) {
            // Relaxed: a number by itself.
            slot.most.store(most, Ordering::Relaxed);
        }
    }

    /// Whether the future waits while another one leads.
    #[inline]
    pub(crate) fn follows(&self, ticket: &Ticket) -> bool {
        ticket.token.is_some() && self.leader != ticket.token
    }

    /// The future waits. Whether it leads, and so polls the port: it does if it begins to wait, if it led before, and if nobody
    /// leads. With `may_lead` false it does not.
    pub(crate) fn wait(&mut self, ticket: &mut Ticket, waker: &Waker, may_lead: bool) -> bool {
        let (token, new) = match ticket.token {
            Some(token) => {
                self.waiters.renew(token, waker, may_lead);
                (token, false)
            }
            None => {
                let token = self.waiters.join(waker, may_lead);
                ticket.token = Some(token);
                self.queue_of(ticket.owner).push_back(token);
                (token, true)
            }
        };
        if may_lead && (new || self.leader.is_none()) {
            self.leader = Some(token);
        }
        self.leader == Some(token)
    }

    fn queue_of(&mut self, owner: Owner) -> &mut VecDeque<usize> {
        match owner {
            Owner::Connection(connection) => &mut self.slots[connection].waiting,
            Owner::Acceptor(acceptor) => &mut self.acceptors[acceptor].waiting,
            Owner::Place(place) => &mut self.places[place],
        }
    }

    /// The future waits no longer, with or without what it waited for: others of its owner get what it left.
    #[inline]
    pub(crate) fn leave(&mut self, ticket: &mut Ticket) {
        if ticket.waits() {
            self.leave_place(ticket);
        }
    }

    /// Out of line: who finds a message at once has not waited.
    #[inline(never)]
    fn leave_place(&mut self, ticket: &mut Ticket) {
        let Some(token) = ticket.token.take() else { return };
        self.waiters.leave(token);
        let waiting = self.queue_of(ticket.owner);
        waiting.retain(|&other| other != token);
        let others = !waiting.is_empty();
        if self.leader == Some(token) {
            self.leader = None;
        }
        let left = others
            && match ticket.owner {
                Owner::Connection(connection) => !self.slots[connection].queue.is_empty(),
                Owner::Acceptor(acceptor) => !self.acceptors[acceptor].backlog.is_empty(),
                // What is left there, others know; the next one looks.
                Owner::Place(_) => true,
            };
        if left {
            self.notify(ticket.owner);
        }
    }

    /// Has somebody lead who waits and may, if nobody does. Whether there is such a one.
    pub(crate) fn promote(&mut self) -> bool {
        let Some(last) = self.waiters.last_that_may_lead() else { return false };
        if self.leader.is_none() {
            self.leader = Some(last);
            self.woken.push(self.waiters.waker(last).clone());
        }
        true
    }

    /// Wakes one future of `owner` that was not woken yet.
    fn notify(&mut self, owner: Owner) {
        let waiting = match owner {
            Owner::Connection(connection) => &self.slots[connection].waiting,
            Owner::Acceptor(acceptor) => &self.acceptors[acceptor].waiting,
            Owner::Place(place) => &self.places[place],
        };
        if let Some(&token) = waiting.iter().find(|&&token| self.waiters.notify(token)) {
            // The leader looks for itself, in this poll or in its next.
            if self.leader != Some(token) {
                self.woken.push(self.waiters.waker(token).clone());
            }
        }
    }

    /// A new place to wait at.
    #[cfg(feature = "tcp")]
    pub(crate) fn open_place(&mut self) -> usize {
        self.places.insert(VecDeque::new())
    }

    /// Nobody waits there any more.
    #[cfg(feature = "tcp")]
    pub(crate) fn close_place(&mut self, place: usize) {
        self.places.try_remove(place);
    }

    /// Wakes one future at the place. When it leaves, with or without what it came for, it wakes the next.
    #[cfg(feature = "tcp")]
    pub(crate) fn announce(&mut self, place: usize) {
        self.notify(Owner::Place(place));
    }

    /// Whether anyone is to be woken once the lock is free.
    #[inline]
    pub(crate) fn wakes(&self) -> bool {
        !self.woken.is_empty()
    }

    /// What is to be woken once the lock is free.
    pub(crate) fn take_woken(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.woken)
    }

    /// Gives the emptied list of [`take_woken`](Self::take_woken) back for later, so that waking does not allocate.
    pub(crate) fn reuse(&mut self, emptied: Vec<Waker>) {
        if self.woken.capacity() == 0 {
            self.woken = emptied;
        }
    }

    /// This end closed the connection: what waits for it is dropped, and its futures are woken. Its flow stays known until it is
    /// removed, so that late messages of the peer don't make a new connection.
    pub(crate) fn close(&mut self, connection: usize) {
        let slot = &mut self.slots[connection];
        slot.closed = true;
        self.queued -= slot.queue.len();
        slot.queue.clear();
        for &token in &slot.waiting {
            self.waiters.notify(token);
            self.woken.push(self.waiters.waker(token).clone());
        }
    }

    /// Forgets the connection. No future of it waits any more, since each borrows it.
    pub(crate) fn remove(&mut self, connection: usize) {
        let Some(slot) = self.slots.try_remove(connection) else { return };
        self.queued -= slot.queue.len();
        if let Entry::Occupied(entry) = self.flows.entry(slot.flow) {
            entry.remove();
        }
        self.ports.release(slot.flow.local_port);
    }

    /// No more connections: those in the backlog are forgotten.
    pub(crate) fn stop_listening(&mut self, acceptor: usize) {
        while let Some((connection, _)) = self.accept(acceptor) {
            self.remove(connection);
        }
        let Some(acceptor) = self.acceptors.try_remove(acceptor) else { return };
        self.listening.remove(&acceptor.port);
        self.ports.release(acceptor.port);
    }
}
