//! Requests to a store, and its answers.

use super::limits;
use bertha_core::{Error, ErrorKind};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// A moment in the history of a connection's entries; later moments are greater. Every change has a moment of
/// its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Revision(pub u64);

impl Revision {
    /// The version of a missing entry.
    pub const ABSENT: Self = Self(0);
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Conditions on entries, and writes that take place together if all of them hold.
///
/// Without writes it is a read; without conditions it always takes place. No key may be written twice.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Transaction {
    conditions: Vec<(String, Revision)>,
    writes: Vec<(String, Write)>,
}

/// A change of one entry.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Write {
    /// The entry gets this value, and a new version even if the value is unchanged.
    Put {
        /// The value.
        value: Vec<u8>,
        /// The time for which the entry lives unless it is renewed; without it the entry lives for ever.
        /// Stores round up, to a second at most, and may add two seconds.
        ttl: Option<Duration>,
    },
    /// The entry is removed.
    Delete,
}

impl Transaction {
    /// Makes an empty transaction.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a condition: the entry `key` has this version, so it was not written since, and has not expired.
    #[must_use]
    pub fn expect(mut self, key: impl Into<String>, version: Revision) -> Self {
        self.conditions.push((key.into(), version));
        self
    }

    /// Adds a condition: there is no entry `key`.
    #[must_use]
    pub fn expect_absent(self, key: impl Into<String>) -> Self {
        self.expect(key, Revision::ABSENT)
    }

    /// Gives the entry `key` a value, without a time to live.
    #[must_use]
    pub fn put(self, key: impl Into<String>, value: Vec<u8>) -> Self {
        self.write(key.into(), Write::Put { value, ttl: None })
    }

    /// Gives the entry `key` a value that is removed after `ttl` unless it is renewed.
    #[must_use]
    pub fn put_for(self, key: impl Into<String>, value: Vec<u8>, ttl: Duration) -> Self {
        self.write(key.into(), Write::Put { value, ttl: Some(ttl) })
    }

    /// Removes the entry `key`, if it exists.
    #[must_use]
    pub fn delete(self, key: impl Into<String>) -> Self {
        self.write(key.into(), Write::Delete)
    }

    fn write(mut self, key: String, write: Write) -> Self {
        self.writes.push((key, write));
        self
    }

    /// Returns the versions that entries must have.
    pub fn conditions(&self) -> &[(String, Revision)] {
        &self.conditions
    }

    /// Returns the changes of entries.
    pub fn writes(&self) -> &[(String, Write)] {
        &self.writes
    }

    /// Checks the bounds. Every store makes this check before anything else.
    ///
    /// # Errors
    /// [`TooLarge`](ErrorKind::TooLarge) for more operations, or longer keys or values, than [`limits`] allow;
    /// [`Invalid`](ErrorKind::Invalid) if a key is empty or is written twice.
    pub fn check(&self) -> Result<(), Error> {
        let too_large = |what: String| Err(Error::new(ErrorKind::TooLarge, what).at("rendezvous"));
        if self.conditions.len().max(self.writes.len()) > limits::OPERATIONS {
            return too_large(format!(
                "a transaction of more than {} conditions or writes",
                limits::OPERATIONS
            ));
        }
        let keys = self.conditions.iter().map(|(key, _)| key).chain(self.writes.iter().map(|(key, _)| key));
        for key in keys {
            if key.is_empty() {
                return Err(Error::new(ErrorKind::Invalid, "an empty key").at("rendezvous"));
            }
            if key.len() > limits::KEY {
                return too_large(format!(
                    "a key of {} bytes, at most {} are possible",
                    key.len(),
                    limits::KEY
                ));
            }
        }
        for (at, (key, write)) in self.writes.iter().enumerate() {
            if self.writes[..at].iter().any(|(other, _)| other == key) {
                return Err(
                    Error::new(ErrorKind::Invalid, format!("{key} is written twice")).at("rendezvous")
                );
            }
            if let Write::Put { value, .. } = write
                && value.len() > limits::VALUE
            {
                let len = value.len();
                return too_large(format!("{key} with {len} bytes, at most {} are possible", limits::VALUE));
            }
        }
        Ok(())
    }
}

/// The result of a transaction.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Outcome {
    /// True if the conditions of the transaction held, so that its writes took place.
    pub applied: bool,
    /// The connection's entries right after the transaction.
    pub snapshot: Snapshot,
}

/// All entries of a connection at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Snapshot {
    /// The moment of the snapshot.
    pub revision: Revision,
    /// The entries by their keys.
    pub entries: BTreeMap<String, Entry>,
}

impl Snapshot {
    /// Returns the version of the entry `key`; [`Revision::ABSENT`] if there is no such entry.
    pub fn version(&self, key: &str) -> Revision {
        self.entries.get(key).map_or(Revision::ABSENT, |entry| entry.version)
    }

    /// Returns true if the conditions of `transaction` hold at this moment.
    pub fn satisfies(&self, transaction: &Transaction) -> bool {
        transaction.conditions.iter().all(|(key, version)| self.version(key) == *version)
    }
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Entry {
    /// The revision at which the entry was last written.
    pub version: Revision,
    /// The value of the entry.
    pub value: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(transaction: &Transaction) -> Option<ErrorKind> {
        transaction.check().err().map(|error| error.kind())
    }

    #[test]
    fn the_bounds_are_kept() {
        let fits = Transaction::new().expect_absent("k".repeat(limits::KEY)).put("k", vec![0; limits::VALUE]);
        assert_eq!(kind(&fits), None);
        assert_eq!(kind(&fits.clone().put("k", Vec::new())), Some(ErrorKind::Invalid));
        assert_eq!(kind(&fits.delete("")), Some(ErrorKind::Invalid));
        let key = "k".repeat(limits::KEY + 1);
        assert_eq!(kind(&Transaction::new().expect_absent(key.clone())), Some(ErrorKind::TooLarge));
        assert_eq!(kind(&Transaction::new().delete(key)), Some(ErrorKind::TooLarge));
        let value = vec![0; limits::VALUE + 1];
        assert_eq!(kind(&Transaction::new().put("k", value)), Some(ErrorKind::TooLarge));
        let many =
            (0..=limits::OPERATIONS).fold(Transaction::new(), |many, key| many.delete(key.to_string()));
        assert_eq!(kind(&many), Some(ErrorKind::TooLarge));
    }
}
