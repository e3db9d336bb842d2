//! The conformance suite of rendezvous stores: the promises in the documentation of [`RendezvousStore`], as checks.

mod bounds;
mod expiry;
mod transactions;
mod watching;

pub use bounds::*;
pub use expiry::*;
pub use transactions::*;
pub use watching::*;

use super::TIMEOUT;
use bertha_core::{Error, Runtime};
use bertha_negotiation::rendezvous::{Name, Outcome, RendezvousStore, Revision, Snapshot, Transaction};
use futures_util::future::{Either, select};
use std::fmt;
use std::pin::pin;
use std::time::Duration;

/// A store to check, and a runtime whose clock runs as fast as the store's.
pub struct StoreSite<'a, S, R> {
    /// The store.
    pub store: &'a S,
    /// A runtime for waiting.
    pub runtime: &'a R,
}

/// Runs all checks that every store must pass.
pub async fn store<S: RendezvousStore, R: Runtime>(site: &StoreSite<'_, S, R>) {
    macro_rules! each {
        ($($check:ident)*) => {$( Box::pin($check(site)).await; )*};
    }
    each! {
        a_name_without_entries_is_empty
        what_was_put_is_read
        every_byte_survives
        a_transaction_is_all_or_nothing
        a_failed_transaction_says_what_is_there
        a_version_never_stands_for_two_values
        of_many_creators_one_wins
        increments_are_not_lost
        writes_that_depend_on_each_other_are_serialised
        names_do_not_see_each_other
        a_dropped_transaction_is_whole_or_nothing
        an_entry_expires
        expiry_is_a_change
        a_renewed_entry_lives_on
        writing_starts_the_time_anew
        what_has_expired_is_not_renewed
        an_entry_without_a_time_to_live_stays
        several_entries_with_a_time_to_live_in_one_transaction
        a_change_is_reported
        a_change_before_waiting_is_reported
        a_dropped_wait_misses_nothing
        expiry_is_reported_once_somebody_touches
        too_much_is_refused_whole
        too_many_entries_are_refused
        names_are_listed
    }
}

impl<S: RendezvousStore, R: Runtime> StoreSite<'_, S, R> {
    /// Returns an unused name.
    pub fn name(&self) -> Name {
        Name::new(format!("conformance-{:016x}", self.runtime.random())).unwrap()
    }

    /// Returns the output of `future`, which must be ready soon.
    pub async fn soon<T>(&self, what: &str, future: impl Future<Output = T>) -> T {
        match self.within(TIMEOUT, future).await {
            Some(result) => result,
            None => panic!("{what}: nothing happened for {TIMEOUT:?}"),
        }
    }

    /// Returns the output of `future`, if it is ready within `duration`.
    pub async fn within<T>(&self, duration: Duration, future: impl Future<Output = T>) -> Option<T> {
        let timer = pin!(self.runtime.sleep_until(self.runtime.now() + duration));
        match select(pin!(future), timer).await {
            Either::Left((result, _)) => Some(result),
            Either::Right(_) => None,
        }
    }

    async fn pause(&self, duration: Duration) {
        self.runtime.sleep_until(self.runtime.now() + duration).await;
    }

    async fn attempt(&self, name: &Name, transaction: Transaction) -> Result<Outcome, Error> {
        self.soon("a transaction", self.store.transact(name, &transaction)).await
    }

    async fn transact(&self, name: &Name, transaction: Transaction) -> Outcome {
        self.attempt(name, transaction).await.unwrap_or_else(|error| panic!("a transaction: {error:?}"))
    }

    /// Runs a transaction whose conditions hold.
    async fn applied(&self, name: &Name, transaction: Transaction) -> Snapshot {
        let outcome = self.transact(name, transaction).await;
        assert!(outcome.applied, "a transaction whose conditions hold was not applied");
        outcome.snapshot
    }

    async fn read(&self, name: &Name) -> Snapshot {
        self.soon("a read", self.store.read(name)).await.unwrap_or_else(|error| panic!("a read: {error:?}"))
    }

    async fn renew(&self, name: &Name, key: &str, ttl: Duration) -> Option<Revision> {
        let renewed = self.soon("a renewal", self.store.renew(name, key, ttl)).await;
        renewed.unwrap_or_else(|error| panic!("a renewal: {error:?}"))
    }
}

impl<S, R> fmt::Debug for StoreSite<'_, S, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreSite").finish_non_exhaustive()
    }
}

fn value(snapshot: &Snapshot, key: &str) -> Option<Vec<u8>> {
    snapshot.entries.get(key).map(|entry| entry.value.clone())
}
