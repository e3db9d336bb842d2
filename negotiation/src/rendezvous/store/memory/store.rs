//! The store for participants in one process, and the reference for all other stores.

use super::entries::Entries;
use crate::rendezvous::store::interface::{RendezvousStore, Watch};
use crate::rendezvous::store::name::Name;
use crate::rendezvous::store::transaction::{Outcome, Revision, Transaction};
use bertha_core::{Error, Runtime};
use futures_util::future::{pending, select};
use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// A store in memory, for participants in one process. Clones share their entries.
///
/// Its clock is the runtime's clock, so that it works in virtual time as well.
#[derive(Clone)]
pub struct MemoryStore<R> {
    connections: Arc<Mutex<Connections>>,
    runtime: R,
}

#[derive(Default)]
struct Connections {
    by_name: HashMap<Name, Entries>,
    /// The last revision of any forgotten connection. The next connection of its name continues from it, so
    /// that no version ever stands for two values.
    forgotten: Revision,
}

impl<R: Runtime> MemoryStore<R> {
    /// Makes an empty store on the clock of `runtime`.
    pub fn new(runtime: R) -> Self {
        Self { connections: Arc::default(), runtime }
    }

    /// Forgets all entries, as a store that lost its disk. Watches report it.
    pub fn clear(&self) {
        self.lock().by_name.values_mut().for_each(Entries::clear);
    }

    /// Runs `work` on the entries of `name`, without expired entries.
    fn with<T>(&self, name: &Name, work: impl FnOnce(&mut Entries) -> T) -> T {
        let mut connections = self.lock();
        let Connections { by_name, forgotten } = &mut *connections;
        let connection = by_name.entry(name.clone()).or_insert_with(|| Entries::after(*forgotten));
        connection.expire(self.runtime.now());
        let result = work(connection);
        if connection.is_unused() {
            *forgotten = connection.revision().max(*forgotten);
            by_name.remove(name);
        }
        result
    }

    fn lock(&self) -> MutexGuard<'_, Connections> {
        // No code that can panic runs under the lock; if it did, entries would still be whole.
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<R: Runtime> RendezvousStore for MemoryStore<R> {
    type Watch = MemoryWatch<R>;

    async fn transact(&self, name: &Name, transaction: &Transaction) -> Result<Outcome, Error> {
        transaction.check()?;
        let now = self.runtime.now();
        self.with(name, |connection| connection.transact(transaction, now))
    }

    async fn renew(&self, name: &Name, key: &str, ttl: Duration) -> Result<Option<Revision>, Error> {
        let deadline = self.runtime.now() + ttl;
        Ok(self.with(name, |connection| connection.renew(key, deadline)))
    }

    async fn watch(&self, name: &Name) -> Result<MemoryWatch<R>, Error> {
        let (changes, seen) = self.with(name, |connection| (connection.changes(), connection.revision()));
        Ok(MemoryWatch { store: self.clone(), name: name.clone(), changes, seen })
    }

    async fn names(&self, limit: usize) -> Result<Vec<Name>, Error> {
        let now = self.runtime.now();
        let mut connections = self.lock();
        connections.by_name.values_mut().for_each(|connection| connection.expire(now));
        let named = connections.by_name.iter().filter(|(_, connection)| !connection.is_empty());
        Ok(named.map(|(name, _)| name.clone()).take(limit).collect())
    }
}

bertha_core::debug_fields!(MemoryStore<R> {});

/// Reports changes in a [`MemoryStore`], and expiry when it happens.
pub struct MemoryWatch<R> {
    store: MemoryStore<R>,
    name: Name,
    changes: Arc<Notify>,
    /// The revision that was reported last.
    seen: Revision,
}

impl<R: Runtime> Watch for MemoryWatch<R> {
    async fn changed(&mut self) -> Result<Revision, Error> {
        loop {
            // The notification is created before the revision is read, so that no change is missed. Access to
            // the connection removes expired entries.
            let changed = pin!(self.changes.notified());
            let look = |connection: &mut Entries| (connection.revision(), connection.next_deadline());
            let (revision, deadline) = self.store.with(&self.name, look);
            if revision != self.seen {
                self.seen = revision;
                return Ok(revision);
            }
            let expiry = pin!(async {
                match deadline {
                    Some(deadline) => self.store.runtime.sleep_until(deadline).await,
                    None => pending().await,
                }
            });
            select(changed, expiry).await;
        }
    }
}

bertha_core::debug_fields!(MemoryWatch<R> { name });
