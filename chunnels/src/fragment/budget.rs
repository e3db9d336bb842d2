//! The memory that all connections of one `Fragment` share.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

/// The memory for incomplete messages, in bytes.
///
/// When the memory is used up, the connection that holds most gives up its oldest message. So a connection
/// that holds no more than any other loses nothing to the others, however many they are.
#[derive(Debug)]
pub(super) struct Budget<Holder> {
    total: usize,
    /// Locked when a message in pieces begins and ends, not for each piece, and never across an await: a
    /// number and an ordered map have to change together.
    held: Mutex<Held<Holder>>,
}

#[derive(Debug)]
struct Held<Holder> {
    bytes: usize,
    /// The holders of memory, by its size. Other connections are absent, so idle connections cost nothing.
    by_size: BTreeMap<(usize, u64), Weak<Holder>>,
    /// The number of accounts opened so far.
    opened: u64,
}

/// The part of one connection.
#[derive(Debug)]
pub(super) struct Account<Holder> {
    budget: Arc<Budget<Holder>>,
    number: u64,
    holder: Weak<Holder>,
    bytes: usize,
}

/// The connection that has to give up a message before another connection can have its memory.
#[derive(Debug)]
pub(super) enum Debtor<Holder> {
    /// The connection that asks.
    Asker,
    Other(Arc<Holder>),
}

impl<Holder> Budget<Holder> {
    pub(super) fn new(total: usize) -> Self {
        Self { total, held: Mutex::new(Held { bytes: 0, by_size: BTreeMap::new(), opened: 0 }) }
    }

    /// Opens the empty account of a connection.
    pub(super) fn open(self: &Arc<Self>, holder: Weak<Holder>) -> Account<Holder> {
        let mut held = self.held.lock();
        held.opened += 1;
        Account { budget: self.clone(), number: held.opened, holder, bytes: 0 }
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.held.lock().bytes
    }
}

impl<Holder> Account<Holder> {
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes `bytes` more, if the budget has them.
    ///
    /// # Errors
    /// The connection that holds most, which is the asking connection only if it `may_give`. Asking again
    /// after that connection gave up a message succeeds in the end, as long as the asking connection alone
    /// stays within the budget.
    pub(super) fn take(&mut self, bytes: usize, may_give: bool) -> Result<(), Debtor<Holder>> {
        let mut held = self.budget.held.lock();
        while held.bytes + bytes > self.budget.total {
            let mut by_size = held.by_size.iter().rev();
            let Some((&entry, holder)) = by_size.find(|(entry, _)| may_give || entry.1 != self.number) else {
                break;
            };
            if entry.1 == self.number {
                return Err(Debtor::Asker);
            }
            match holder.upgrade() {
                Some(holder) => return Err(Debtor::Other(holder)),
                // The connection is just being dropped.
                None => held.settle(entry.0, entry.1),
            }
        }
        held.settle(self.bytes, self.number);
        self.bytes += bytes;
        held.enter(self.bytes, self.number, &self.holder);
        Ok(())
    }

    /// Gives `bytes` back.
    pub(super) fn give(&mut self, bytes: usize) {
        let mut held = self.budget.held.lock();
        held.settle(self.bytes, self.number);
        self.bytes -= bytes;
        held.enter(self.bytes, self.number, &self.holder);
    }
}

impl<Holder> Held<Holder> {
    fn enter(&mut self, bytes: usize, number: u64, holder: &Weak<Holder>) {
        if bytes > 0 {
            self.bytes += bytes;
            self.by_size.insert((bytes, number), holder.clone());
        }
    }

    /// Removes an entry, if it is there.
    fn settle(&mut self, bytes: usize, number: u64) {
        if self.by_size.remove(&(bytes, number)).is_some() {
            self.bytes -= bytes;
        }
    }
}

impl<Holder> Drop for Account<Holder> {
    fn drop(&mut self) {
        self.budget.held.lock().settle(self.bytes, self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_holds_most_gives_and_the_dead_hold_nothing() {
        let budget = Arc::new(Budget::new(100));
        let holders: Vec<Arc<u32>> = (0..3).map(Arc::new).collect();
        let mut accounts: Vec<_> = holders.iter().map(|holder| budget.open(Arc::downgrade(holder))).collect();
        accounts[0].take(50, true).unwrap();
        accounts[1].take(30, true).unwrap();
        assert!(matches!(accounts[2].take(30, true), Err(Debtor::Other(holder)) if *holder == 0));
        assert!(matches!(accounts[0].take(30, true), Err(Debtor::Asker)));
        assert!(matches!(accounts[0].take(30, false), Err(Debtor::Other(holder)) if *holder == 1));
        accounts[0].give(20);
        accounts[2].take(30, true).unwrap();
        assert_eq!(budget.held(), 90);
        // A holder without the end of its account: it can't give up messages.
        drop(holders);
        accounts[0].take(60, false).unwrap();
        assert_eq!(budget.held(), 90);
        accounts.truncate(1);
        assert_eq!((budget.held(), accounts[0].bytes()), (90, 90));
        accounts[0].take(10, false).unwrap();
        assert_eq!(budget.held(), 100, "the budget is full");
        accounts[0].give(100);
        assert_eq!((budget.held(), budget.held.lock().by_size.len()), (0, 0));
        accounts[0].take(100, true).unwrap();
        drop(accounts);
        assert_eq!((budget.held(), budget.held.lock().by_size.len()), (0, 0));
    }

    #[test]
    fn the_last_byte_is_taken_and_nobody_has_to_give() {
        let budget = Arc::new(Budget::new(100));
        let holders = [0, 1].map(Arc::new);
        let [mut first, mut second] = holders.each_ref().map(|holder| budget.open(Arc::downgrade(holder)));
        first.take(60, true).unwrap();
        second.take(40, true).unwrap();
        assert_eq!(budget.held(), 100);
        assert!(matches!(second.take(1, true), Err(Debtor::Other(holder)) if *holder == 0));
    }
}
