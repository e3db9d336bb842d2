//! A store that counts the requests to it, and fails when the test says so.

use bertha_core::{Error, ErrorKind};
use bertha_negotiation::rendezvous::{Name, Outcome, RendezvousStore, Revision, Transaction};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// A participant's connection to a store.
#[derive(Debug)]
pub(crate) struct Counting<S> {
    store: Arc<S>,
    /// Number of transactions, reads included, and renewals that callers have asked for.
    pub(crate) transactions: Arc<AtomicUsize>,
    /// True if the store can't be reached.
    pub(crate) cut: Arc<AtomicBool>,
}

impl<S> Counting<S> {
    pub(crate) fn new(store: Arc<S>) -> Self {
        Self { store, transactions: Arc::default(), cut: Arc::default() }
    }

    /// Returns the connection of another participant, which is cut and counted together with this connection.
    pub(crate) fn another(&self) -> Self {
        Self { store: self.store.clone(), transactions: self.transactions.clone(), cut: self.cut.clone() }
    }

    fn reach(&self) -> Result<&S, Error> {
        match self.cut.load(Ordering::Relaxed) {
            true => Err(Error::new(ErrorKind::Unreachable, "cut off")),
            false => Ok(&self.store),
        }
    }
}

impl<S: RendezvousStore> RendezvousStore for Counting<S> {
    type Watch = S::Watch;

    async fn transact(&self, name: &Name, transaction: &Transaction) -> Result<Outcome, Error> {
        self.transactions.fetch_add(1, Ordering::Relaxed);
        self.reach()?.transact(name, transaction).await
    }

    async fn renew(&self, name: &Name, key: &str, ttl: Duration) -> Result<Option<Revision>, Error> {
        self.reach()?.renew(name, key, ttl).await
    }

    async fn watch(&self, name: &Name) -> Result<S::Watch, Error> {
        self.reach()?.watch(name).await
    }

    async fn names(&self, limit: usize) -> Result<Vec<Name>, Error> {
        self.reach()?.names(limit).await
    }
}
