//! The connections and listeners of this process, for a program that lets itself be watched.
//!
//! Nothing is recorded before [`start`], which a program calls first of all: a connection that was made before
//! is not listed. From then on, each connection and listener costs an entry of about 200 bytes, and messages
//! cost nothing more than before. The crate `bertha-observe` serves the lists to the command `bertha top` and
//! to Prometheus.

mod totals;

use crate::handshake::CurrentAgreement;
use crate::{Agreement, Session};
use bertha_core::statistics::Observed;
use bertha_core::{Addr, Base, Connection, Runtime, Statistics};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Instant;
pub use totals::{EndedTotals, Total};

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

/// The connections and listeners of this process at one moment.
#[derive(Debug)]
#[non_exhaustive]
pub struct Observation {
    /// The connections that were made since [`start`] and live, in the order in which they were made.
    pub connections: Vec<ObservedConnection>,
    /// The listeners that began since [`start`] and live, in the order in which they began.
    pub listeners: Vec<ObservedListener>,
    /// The totals of the connections that have ended since [`start`].
    pub ended: EndedTotals,
}

/// Begins to record connections and listeners, until the process ends.
pub fn start() {
    IS_ON.store(true, Ordering::Relaxed);
}

/// Returns the connections and listeners at this moment. Each connection is either among the living or in
/// the totals of the ended, so that sums over both never fall.
///
/// The call takes the locks of the layers of all connections, each for a short time.
pub fn observe() -> Observation {
    let (connections, listeners, ended) = {
        let observed = OBSERVED.lock();
        let connections: Vec<_> =
            observed.connections.iter().map(|(&number, it)| (number, it.clone())).collect();
        let listeners: Vec<_> = observed.listeners.iter().filter_map(ListenerEntry::live).collect();
        (connections, listeners, observed.ended.clone())
    };
    // Outside of the lock: a layer may drop a connection while it is asked.
    Observation {
        connections: connections.into_iter().map(|(number, entry)| entry.observed(number)).collect(),
        listeners: listeners.into_iter().map(|(entry, listener)| entry.observed(&*listener)).collect(),
        ended,
    }
}

static IS_ON: AtomicBool = AtomicBool::new(false);

static OBSERVED: Mutex<AllObserved> = Mutex::new(AllObserved {
    last: 0,
    connections: BTreeMap::new(),
    listeners: Vec::new(),
    ended: EndedTotals::NONE,
});

struct AllObserved {
    /// The last number that was given.
    last: u64,
    connections: BTreeMap<u64, ConnectionEntry>,
    listeners: Vec<ListenerEntry>,
    ended: EndedTotals,
}

impl AllObserved {
    fn number(&mut self) -> NonZeroU64 {
        self.last += 1;
        // The first number is 1, and the last is never reached.
        NonZeroU64::new(self.last).unwrap_or(NonZeroU64::MAX)
    }
}

#[derive(Clone)]
struct ConnectionEntry {
    since: Instant,
    local: Addr,
    peer: Addr,
    session: Arc<Session>,
    agreement: Arc<CurrentAgreement>,
    dropped: Arc<AtomicU64>,
}

#[derive(Clone)]
struct ListenerEntry {
    number: u64,
    local: Addr,
    listener: Weak<dyn Observed>,
}

impl ConnectionEntry {
    fn statistics(&self) -> Statistics {
        self.session.statistics_of_link(self.dropped.load(Ordering::Relaxed))
    }

    fn observed(self, number: u64) -> ObservedConnection {
        let statistics = self.statistics();
        let Self { since, local, peer, agreement, .. } = self;
        ObservedConnection { number, since, local, peer, agreement: agreement.get(), statistics }
    }
}

impl ListenerEntry {
    fn live(&self) -> Option<(Self, Arc<dyn Observed>)> {
        Some((self.clone(), self.listener.upgrade()?))
    }

    fn observed(self, listener: &dyn Observed) -> ObservedListener {
        let mut statistics = Statistics::default();
        listener.observe(&mut statistics);
        ObservedListener { number: self.number, local: self.local, statistics }
    }
}

/// The parts of a connection by which it is observed.
pub(crate) struct Parts<'a> {
    pub(crate) session: &'a Arc<Session>,
    pub(crate) agreement: &'a Arc<CurrentAgreement>,
    pub(crate) dropped: &'a Arc<AtomicU64>,
}

/// The entry of a connection, if this process observes its connections. The owner drops it before the
/// connection, whose totals are then read for the last time.
#[derive(Debug, Default)]
pub(crate) struct EntryGuard(Option<NonZeroU64>);

impl Drop for EntryGuard {
    #[inline]
    fn drop(&mut self) {
        if let Some(number) = self.0 {
            end(number.get());
        }
    }
}

/// Records a new connection, if this process observes its connections.
#[inline]
pub(crate) fn connected(connection: &impl Connection, parts: Parts<'_>) -> EntryGuard {
    if !IS_ON.load(Ordering::Relaxed) {
        return EntryGuard(None);
    }
    let base = connection.base();
    EntryGuard(Some(record(parts, base.runtime().now(), [base.local_addr(), base.peer_addr()])))
}

#[cold]
fn record(parts: Parts<'_>, since: Instant, [local, peer]: [Addr; 2]) -> NonZeroU64 {
    let Parts { session, agreement, dropped } = parts;
    let (session, agreement, dropped) = (session.clone(), agreement.clone(), dropped.clone());
    let entry = ConnectionEntry { since, local, peer, session, agreement, dropped };
    let mut observed = OBSERVED.lock();
    let number = observed.number();
    observed.connections.insert(number.get(), entry);
    number
}

/// Moves the totals of a connection to those of the ended.
#[cold]
fn end(number: u64) {
    let Some(entry) = OBSERVED.lock().connections.get(&number).cloned() else { return };
    let statistics = entry.statistics();
    let mut observed = OBSERVED.lock();
    observed.ended.add(&statistics);
    // Dropped after the lock is released, with the last reference to the session.
    let _removed = observed.connections.remove(&number);
    drop(observed);
}

/// Records a new listener, if this process observes its listeners.
pub(crate) fn listening(local: impl FnOnce() -> Addr, listener: Weak<dyn Observed>) {
    if IS_ON.load(Ordering::Relaxed) {
        let mut observed = OBSERVED.lock();
        observed.listeners.retain(|entry| entry.listener.strong_count() > 0);
        let number = observed.number().get();
        observed.listeners.push(ListenerEntry { number, local: local(), listener });
    }
}
