//! Records that live for a limited time.

use super::Store;
use crate::Key;
use std::time::Duration;

/// Time of expiry of a record that does not expire.
pub(super) const NEVER: Duration = Duration::MAX;

/// Largest number of records that a single [`Store::advance`] removes.
const REMOVED_AT_ONCE: usize = 64;

/// The lifetime of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// The record lives until it is removed.
    Unlimited,
    /// The record lives for this time from now on, or until it is removed.
    For(Duration),
}

impl Store {
    /// Returns true if any record expires: only then does the store need to know the time before a request.
    pub fn has_expiring(&self) -> bool {
        !self.expiring.is_empty()
    }

    /// Sets the time, which never goes back, and removes some of the expired records. The other expired
    /// records count as removed, but still occupy memory.
    pub fn advance(&mut self, now: Duration) {
        self.now = self.now.max(now);
        for _ in 0..REMOVED_AT_ONCE {
            match self.expiring.first() {
                Some((until, key)) if *until <= self.now => {
                    let key = key.clone();
                    self.remove(&key);
                }
                _ => return,
            }
        }
    }

    /// Returns the remaining lifetime of the record; `None` if there is no record.
    pub fn lifetime(&self, key: &[u8]) -> Option<Lifetime> {
        self.live(key).map(|record| match record.until {
            NEVER => Lifetime::Unlimited,
            until => Lifetime::For(until - self.now),
        })
    }

    /// Sets the record's lifetime from now on. Returns true if there is such a record.
    pub fn set_lifetime(&mut self, key: &Key, lifetime: Lifetime) -> bool {
        let now = self.now;
        let until = self.end(lifetime);
        let Some(record) = self.records.get_mut(key).filter(|record| record.until > now) else {
            return false;
        };
        let before = std::mem::replace(&mut record.until, until);
        self.reschedule(key, before, until);
        true
    }

    pub(super) fn end(&self, lifetime: Lifetime) -> Duration {
        match lifetime {
            Lifetime::Unlimited => NEVER,
            Lifetime::For(time) => self.now.saturating_add(time),
        }
    }

    /// Moves a record to its new place among the records that expire.
    #[inline]
    pub(super) fn reschedule(&mut self, key: &Key, before: Duration, until: Duration) {
        if before != until {
            self.move_end(key, before, until);
        }
    }

    #[cold]
    fn move_end(&mut self, key: &Key, before: Duration, until: Duration) {
        if before != NEVER {
            self.expiring.remove(&(before, key.clone()));
        }
        if until != NEVER {
            self.expiring.insert((until, key.clone()));
        }
    }
}
