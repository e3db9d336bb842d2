//! The entries of one connection.

use crate::rendezvous::store::limits;
use crate::rendezvous::store::transaction::{Entry, Outcome, Revision, Snapshot, Transaction, Write};
use bertha_core::{Error, ErrorKind};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Notify;

/// The entries of one connection, without I/O: time is an argument.
#[derive(Debug)]
pub(super) struct Entries {
    snapshot: Snapshot,
    /// The times at which the entries with a time to live expire.
    deadlines: BTreeMap<String, Instant>,
    /// Wakes watches, which share it, in the order in which they began to wait. With this order the run of a
    /// simulation depends on its seed alone; a `tokio::sync::watch` wakes in a random order.
    changes: Arc<Notify>,
}

impl Entries {
    /// Makes an empty set of entries, whose revisions are later than `revision`.
    pub(super) fn after(revision: Revision) -> Self {
        let revision = Revision(revision.0 + 1);
        Self {
            snapshot: Snapshot { revision, entries: BTreeMap::new() },
            deadlines: BTreeMap::new(),
            changes: Arc::default(),
        }
    }

    /// Returns true if the value can be dropped without loss.
    pub(super) fn is_unused(&self) -> bool {
        self.is_empty() && Arc::strong_count(&self.changes) == 1
    }

    pub(super) fn revision(&self) -> Revision {
        self.snapshot.revision
    }

    pub(super) fn is_empty(&self) -> bool {
        self.snapshot.entries.is_empty()
    }

    /// Returns the notification of each change, for a watch.
    pub(super) fn changes(&self) -> Arc<Notify> {
        self.changes.clone()
    }

    /// Returns the time at which the next entry expires.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.values().min().copied()
    }

    /// Removes expired entries.
    pub(super) fn expire(&mut self, now: Instant) {
        let expired: Vec<String> = self
            .deadlines
            .iter()
            .filter(|(_, deadline)| **deadline <= now)
            .map(|(key, _)| key.clone())
            .collect();
        if expired.is_empty() {
            return;
        }
        for key in expired {
            self.deadlines.remove(&key);
            self.snapshot.entries.remove(&key);
        }
        self.changed();
    }

    pub(super) fn clear(&mut self) {
        self.deadlines.clear();
        self.snapshot.entries.clear();
        self.changed();
    }

    pub(super) fn transact(&mut self, transaction: &Transaction, now: Instant) -> Result<Outcome, Error> {
        let applied = self.snapshot.satisfies(transaction);
        if applied && !transaction.writes().is_empty() {
            self.has_room_for(transaction)?;
            let version = Revision(self.snapshot.revision.0 + 1);
            for (key, write) in transaction.writes() {
                self.deadlines.remove(key);
                match write {
                    Write::Put { value, ttl } => {
                        self.snapshot.entries.insert(key.clone(), Entry { version, value: value.clone() });
                        self.deadlines.extend(ttl.map(|ttl| (key.clone(), now + ttl)));
                    }
                    Write::Delete => {
                        self.snapshot.entries.remove(key);
                    }
                }
            }
            self.changed();
        }
        Ok(Outcome { applied, snapshot: self.snapshot.clone() })
    }

    fn has_room_for(&self, transaction: &Transaction) -> Result<(), Error> {
        let new = |(key, write): &&(String, Write)| {
            matches!(write, Write::Put { .. }) && !self.snapshot.entries.contains_key(key)
        };
        if self.snapshot.entries.len() + transaction.writes().iter().filter(new).count() > limits::ENTRIES {
            let what = format!("the connection has {} entries already", self.snapshot.entries.len());
            return Err(Error::new(ErrorKind::Exhausted, what).at("MemoryStore"));
        }
        Ok(())
    }

    pub(super) fn renew(&mut self, key: &str, deadline: Instant) -> Option<Revision> {
        *self.deadlines.get_mut(key)? = deadline;
        Some(self.snapshot.revision)
    }

    fn changed(&mut self) {
        self.snapshot.revision.0 += 1;
        self.changes.notify_waiters();
    }
}
