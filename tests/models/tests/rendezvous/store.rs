//! A store without a clock: an entry with a time to live expires when the model decides so.

use bertha_negotiation::rendezvous::{Entry, Outcome, Revision, Snapshot, Transaction, Write};
use std::collections::BTreeMap;

/// The entries of a connection.
///
/// A version counts the writes of its own entry, and the revision all writes. So two orders of writes that
/// don't touch a common entry lead to the same state, and the participants can't distinguish these orders
/// either.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Store {
    snapshot: Snapshot,
    written: BTreeMap<String, u64>,
    /// The entries that have a time to live.
    leased: BTreeMap<String, ()>,
}

impl Store {
    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    pub(crate) fn revision(&self) -> Revision {
        self.snapshot.revision
    }

    pub(crate) fn holds(&self, key: &str) -> bool {
        self.snapshot.entries.contains_key(key)
    }

    pub(crate) fn transact(&mut self, transaction: &Transaction) -> Outcome {
        transaction.check().unwrap();
        let applied = self.snapshot.satisfies(transaction);
        if applied {
            for (key, write) in transaction.writes() {
                self.leased.remove(key);
                match write {
                    Write::Put { value, ttl } => {
                        let version = Revision(self.count(key));
                        self.snapshot.entries.insert(key.clone(), Entry { version, value: value.clone() });
                        self.leased.extend(ttl.map(|_| (key.clone(), ())));
                    }
                    Write::Delete => self.remove(key),
                }
            }
        }
        Outcome { applied, snapshot: self.snapshot.clone() }
    }

    pub(crate) fn renew(&self, key: &str) -> Option<Revision> {
        self.leased.get(key).map(|()| self.revision())
    }

    pub(crate) fn expire(&mut self, key: &str) {
        assert!(self.leased.remove(key).is_some(), "{key} has no time to live");
        self.remove(key);
    }

    fn remove(&mut self, key: &str) {
        if self.snapshot.entries.remove(key).is_some() {
            self.count(key);
        }
    }

    fn count(&mut self, key: &str) -> u64 {
        self.snapshot.revision.0 += 1;
        let written = self.written.entry(key.into()).or_default();
        *written += 1;
        *written
    }
}
