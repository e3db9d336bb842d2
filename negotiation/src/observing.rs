//! The connections and listeners of this process, for a program that lets itself be watched.
//!
//! Nothing is recorded before [`start`], which a program calls first of all: a connection that was made before
//! is not listed. From then on, each connection and listener costs an entry of about 200 bytes, and messages
//! cost nothing more than before. `bertha::observe` serves the lists to the command `bertha top`.

use crate::handshake::CurrentAgreement;
use crate::{Agreement, Session};
use bertha_core::statistics::Observed;
use bertha_core::{Addr, Base, Connection, Runtime, Statistics};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Instant;

/// A connection of this process at one moment.
#[derive(Debug)]
#[non_exhaustive]
pub struct ObservedConnection {
    /// Number of the connection in this process. Numbers are not used again.
    pub number: u64,
    /// Time at which the connection was made, by the clock of its runtime.
    pub since: Instant,
    /// Address of this end.
    pub local: Addr,
    /// Address of the peer when the connection was made.
    pub peer: Addr,
    /// The stack in use, and the reasons for it.
    pub agreement: Arc<Agreement>,
    /// The state of the layers.
    pub statistics: Statistics,
}

/// A listener of this process at one moment.
#[derive(Debug)]
#[non_exhaustive]
pub struct ObservedListener {
    /// Number of the listener in this process. Numbers are not used again.
    pub number: u64,
    /// Address of the listener.
    pub local: Addr,
    /// The clients so far: [`IncomingStatistics`](crate::IncomingStatistics).
    pub statistics: Statistics,
}

/// Begins to record connections and listeners, until the process ends.
pub fn start() {
    IS_ON.store(true, Ordering::Relaxed);
}

/// Returns all connections that were made since [`start`] and live, in the order in which they were made.
pub fn connections() -> Vec<ObservedConnection> {
    let entries: Vec<_> = OBSERVED.lock().connections.live().collect();
    entries.into_iter().map(|entry| entry.observed()).collect()
}

/// Returns all listeners that began since [`start`] and live, in the order in which they began.
pub fn listeners() -> Vec<ObservedListener> {
    let entries: Vec<_> = OBSERVED.lock().listeners.live().collect();
    let observed = entries.into_iter().map(|(entry, listener)| {
        let mut statistics = Statistics::default();
        listener.observe(&mut statistics);
        ObservedListener { number: entry.number, local: entry.local, statistics }
    });
    observed.collect()
}

static IS_ON: AtomicBool = AtomicBool::new(false);

static OBSERVED: Mutex<AllObserved> =
    Mutex::new(AllObserved { next: 0, connections: Entries::NONE, listeners: Entries::NONE });

struct AllObserved {
    next: u64,
    connections: Entries<ConnectionEntry>,
    listeners: Entries<ListenerEntry>,
}

/// Entries of which some may have ended.
struct Entries<T> {
    entries: Vec<T>,
    /// The length at which ended entries are removed: twice the number of entries that lived the last time.
    swept_at: usize,
}

/// An entry of something that may have ended.
trait Entry {
    type Live;

    /// Returns true unless it has ended.
    fn is_live(&self) -> bool;

    /// Returns the entry and its parts, unless it has ended.
    fn live(&self) -> Option<Self::Live>;
}

#[derive(Clone)]
struct ConnectionEntry {
    number: u64,
    since: Instant,
    local: Addr,
    peer: Addr,
    session: Weak<Session>,
    agreement: Weak<CurrentAgreement>,
    dropped: Weak<AtomicU64>,
}

struct LiveConnection {
    entry: ConnectionEntry,
    session: Arc<Session>,
    agreement: Arc<CurrentAgreement>,
    dropped: u64,
}

#[derive(Clone)]
struct ListenerEntry {
    number: u64,
    local: Addr,
    listener: Weak<dyn Observed>,
}

impl<T: Entry> Entries<T> {
    const NONE: Self = Self { entries: Vec::new(), swept_at: 16 };

    fn add(&mut self, entry: T) {
        if self.entries.len() >= self.swept_at {
            self.entries.retain(T::is_live);
            self.swept_at = 16.max(2 * self.entries.len());
        }
        self.entries.push(entry);
    }

    fn live(&self) -> impl Iterator<Item = T::Live> {
        self.entries.iter().filter_map(T::live)
    }
}

impl Entry for ConnectionEntry {
    type Live = LiveConnection;

    /// The count lives as long as the connection itself, where session and agreement may outlive it.
    fn is_live(&self) -> bool {
        self.dropped.strong_count() > 0
    }

    fn live(&self) -> Option<LiveConnection> {
        let session = self.session.upgrade()?;
        let agreement = self.agreement.upgrade()?;
        let dropped = self.dropped.upgrade()?.load(Ordering::Relaxed);
        Some(LiveConnection { entry: self.clone(), session, agreement, dropped })
    }
}

impl Entry for ListenerEntry {
    type Live = (Self, Arc<dyn Observed>);

    fn is_live(&self) -> bool {
        self.listener.strong_count() > 0
    }

    fn live(&self) -> Option<Self::Live> {
        Some((self.clone(), self.listener.upgrade()?))
    }
}

impl LiveConnection {
    fn observed(self) -> ObservedConnection {
        let Self { entry, session, agreement, dropped } = self;
        let ConnectionEntry { number, since, local, peer, .. } = entry;
        let statistics = session.statistics_of_link(dropped);
        ObservedConnection { number, since, local, peer, agreement: agreement.get(), statistics }
    }
}

/// The parts of a connection by which it is observed.
pub(crate) struct Parts<'a> {
    pub(crate) session: &'a Arc<Session>,
    pub(crate) agreement: &'a Arc<CurrentAgreement>,
    pub(crate) dropped: &'a Arc<AtomicU64>,
}

/// Records a new connection, if this process observes its connections.
#[inline]
pub(crate) fn connected(connection: &impl Connection, parts: Parts<'_>) {
    if IS_ON.load(Ordering::Relaxed) {
        let base = connection.base();
        record(parts, base.runtime().now(), [base.local_addr(), base.peer_addr()]);
    }
}

#[cold]
fn record(parts: Parts<'_>, since: Instant, [local, peer]: [Addr; 2]) {
    let Parts { session, agreement, dropped } = parts;
    let mut observed = OBSERVED.lock();
    let number = observed.number();
    observed.connections.add(ConnectionEntry {
        number,
        since,
        local,
        peer,
        session: Arc::downgrade(session),
        agreement: Arc::downgrade(agreement),
        dropped: Arc::downgrade(dropped),
    });
}

/// Records a new listener, if this process observes its listeners.
pub(crate) fn listening(local: impl FnOnce() -> Addr, listener: Weak<dyn Observed>) {
    if IS_ON.load(Ordering::Relaxed) {
        let mut observed = OBSERVED.lock();
        let number = observed.number();
        observed.listeners.add(ListenerEntry { number, local: local(), listener });
    }
}

impl AllObserved {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}
