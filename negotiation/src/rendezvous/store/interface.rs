//! The traits of a key-value store for rendezvous.

use super::name::Name;
use super::transaction::{Outcome, Revision, Snapshot, Transaction};
use bertha_core::Error;
use std::sync::Arc;
use std::time::Duration;

/// A key-value store that all participants of a connection can reach.
///
/// Each connection has entries of its own, under its [`Name`]. Entries change in [`Transaction`]s alone, and
/// transactions are serialisable: each transaction either sees and makes all of its changes at one moment or
/// makes none. An entry may have a time to live, which runs on the store's clock alone.
///
/// The bounds in [`limits`](super::limits) hold in every store; a transaction beyond them fails with
/// [`TooLarge`](bertha_core::ErrorKind::TooLarge) and changes nothing.
///
/// # Errors
/// * [`Unreachable`](bertha_core::ErrorKind::Unreachable): the store does not answer, or closed the
///   connection. The outcome of a transaction is then unknown.
/// * [`Unavailable`](bertha_core::ErrorKind::Unavailable): the store answers, and refuses: it requires a
///   password, has no memory left, or is a replica that must not be written to. No transaction took place.
/// * [`Exhausted`](bertha_core::ErrorKind::Exhausted): the connection has more entries than the store reads.
/// * [`Malformed`](bertha_core::ErrorKind::Malformed): the store holds entries that this library did not write.
///
/// # Cancellation
/// A dropped future leaves the store as it was or with the whole transaction, never with a part of it.
pub trait RendezvousStore: Send + Sync + 'static {
    /// The watch for changes of one connection.
    type Watch: Watch;

    /// Carries out `transaction` if all of its conditions hold. Returns the answer whether they held, and the
    /// entries that are in the store right after it.
    fn transact(
        &self,
        name: &Name,
        transaction: &Transaction,
    ) -> impl Future<Output = Result<Outcome, Error>> + Send;

    /// Returns all entries of a connection at one moment.
    fn read(&self, name: &Name) -> impl Future<Output = Result<Snapshot, Error>> + Send {
        async move { Ok(self.transact(name, &Transaction::new()).await?.snapshot) }
    }

    /// Lets an entry that has a time to live live for `ttl` from now on. The entry's value and version stay.
    ///
    /// Returns the connection's revision, or `None` if the entry does not exist any more.
    fn renew(
        &self,
        name: &Name,
        key: &str,
        ttl: Duration,
    ) -> impl Future<Output = Result<Option<Revision>, Error>> + Send;

    /// Starts to watch a connection. Changes after this call has returned are reported.
    fn watch(&self, name: &Name) -> impl Future<Output = Result<Self::Watch, Error>> + Send;

    /// Returns the names of connections that have entries, in any order, at most `limit` names.
    fn names(&self, limit: usize) -> impl Future<Output = Result<Vec<Name>, Error>> + Send;

    /// Returns the address of the store, without secrets, for the log. The default returns `None`.
    fn address(&self) -> Option<String> {
        None
    }
}

/// Shares a store among several participants of a process: they need only one connection to its server.
impl<S: RendezvousStore> RendezvousStore for Arc<S> {
    type Watch = S::Watch;

    fn transact(
        &self,
        name: &Name,
        transaction: &Transaction,
    ) -> impl Future<Output = Result<Outcome, Error>> + Send {
        S::transact(self, name, transaction)
    }

    fn read(&self, name: &Name) -> impl Future<Output = Result<Snapshot, Error>> + Send {
        S::read(self, name)
    }

    fn renew(
        &self,
        name: &Name,
        key: &str,
        ttl: Duration,
    ) -> impl Future<Output = Result<Option<Revision>, Error>> + Send {
        S::renew(self, name, key, ttl)
    }

    fn watch(&self, name: &Name) -> impl Future<Output = Result<S::Watch, Error>> + Send {
        S::watch(self, name)
    }

    fn names(&self, limit: usize) -> impl Future<Output = Result<Vec<Name>, Error>> + Send {
        S::names(self, limit)
    }

    fn address(&self) -> Option<String> {
        S::address(self)
    }
}

/// Reports changes of one connection.
pub trait Watch: Send + 'static {
    /// Waits for the next change, and returns the revision that the connection has reached. Changes between
    /// two calls count as one change; a change may be reported late, twice, or although nothing is different.
    ///
    /// The expiry of an entry is a change. A store without timers of its own reports it when the connection's
    /// entries are next touched: by a transaction, a read, or the renewal of another entry.
    ///
    /// Cancellation-safe.
    ///
    /// # Errors
    /// The errors of the store. After an error changes may have been missed: watch anew, and read.
    fn changed(&mut self) -> impl Future<Output = Result<Revision, Error>> + Send;
}
