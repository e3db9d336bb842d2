//! The traits of a key-value store for rendezvous.

use super::name::Name;
use super::transaction::{Outcome, Revision, Snapshot, Transaction};
use bertha_core::Error;
use std::sync::Arc;
use std::time::Duration;

/// A key-value store that participants of one connection can all reach.
///
/// Each connection has entries of its own, under its [`Name`]. Entries change in [`Transaction`]s alone, and those are
/// serialisable: each either sees and makes all of its changes at one moment or makes none. An entry may have a time to
/// live, which runs on the store's clock and on no other.
///
/// The bounds in [`limits`](super::limits) hold in every store; a transaction beyond them fails with
/// [`TooLarge`](bertha_core::ErrorKind::TooLarge) and changes nothing.
///
/// # Errors
/// * [`Unreachable`](bertha_core::ErrorKind::Unreachable): the store does not answer, or hung up. Whether a
///   transaction took place is then not known.
/// * [`Unavailable`](bertha_core::ErrorKind::Unavailable): the store answers, and refuses: it asks for a password, has no
///   memory left, or is a replica that must not be written to. Nothing took place.
/// * [`Exhausted`](bertha_core::ErrorKind::Exhausted): the connection has more entries than are read.
/// * [`Malformed`](bertha_core::ErrorKind::Malformed): the store holds entries that this library did not write.
///
/// # Cancellation
/// A future that is dropped leaves the store as it was or with the whole transaction, never with a part of it.
pub trait RendezvousStore: Send + Sync + 'static {
    /// Waits for changes of one connection.
    type Watch: Watch;

    /// Carries out `transaction` if all of its conditions hold; says whether they did, and which entries are in the store right
    /// after.
    fn transact(
        &self,
        name: &Name,
        transaction: &Transaction,
    ) -> impl Future<Output = Result<Outcome, Error>> + Send;

    /// All entries of a connection at one moment.
    fn read(&self, name: &Name) -> impl Future<Output = Result<Snapshot, Error>> + Send {
        async move { Ok(self.transact(name, &Transaction::new()).await?.snapshot) }
    }

    /// Lets an entry that has a time to live live for `ttl` from now on. Changes neither its value nor its version.
    ///
    /// The connection's revision, or nothing if there is no such entry any more.
    fn renew(
        &self,
        name: &Name,
        key: &str,
        ttl: Duration,
    ) -> impl Future<Output = Result<Option<Revision>, Error>> + Send;

    /// Starts to watch a connection. What changes after this has returned is reported.
    fn watch(&self, name: &Name) -> impl Future<Output = Result<Self::Watch, Error>> + Send;

    /// The names of connections that have entries, in any order, `limit` of them at most.
    fn names(&self, limit: usize) -> impl Future<Output = Result<Vec<Name>, Error>> + Send;
}

/// A store that several participants of a process share: one connection to its server does for all.
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
}

/// Reports changes of one connection.
pub trait Watch: Send + 'static {
    /// Waits for the next change, and says which revision the connection has reached. Changes that were not waited for
    /// count as one; a change may be reported late, twice, or though nothing is different.
    ///
    /// That an entry expired is a change. A store that has no timers of its own reports it when the connection's
    /// entries are next touched: by a transaction, a read, or the renewal of another entry.
    ///
    /// Cancellation-safe.
    ///
    /// # Errors
    /// As for the store. After an error changes may have been missed: watch anew, and read.
    fn changed(&mut self) -> impl Future<Output = Result<Revision, Error>> + Send;
}
