//! The numbers of records that are inserted while others are read.

use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

/// A source of record numbers for several connections, which knows up to which number all inserts are over.
///
/// Reads draw from the numbers below [`InsertSequence::settled`], so that they do not ask for a record whose
/// insert is still under way. An insert that was given up settles too; a read of its record finds nothing.
#[derive(Debug)]
pub struct InsertSequence {
    next: AtomicU64,
    settled: AtomicU64,
    /// Settled numbers above `settled`, with a gap below them: at most as many as there are inserts in
    /// flight.
    ahead: Mutex<BTreeSet<u64>>,
}

impl InsertSequence {
    /// Creates the sequence from `first` on; all records below it exist.
    pub fn new(first: u64) -> Self {
        Self { next: AtomicU64::new(first), settled: AtomicU64::new(first), ahead: Mutex::default() }
    }

    /// Returns the number of the next record to insert. Every call returns another number.
    pub fn take(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the number below which every record has been inserted or given up.
    pub fn settled(&self) -> u64 {
        self.settled.load(Ordering::Acquire)
    }

    /// Records that the insert of `number`, which [`InsertSequence::take`] returned, is over.
    pub fn settle(&self, number: u64) {
        let mut ahead = self.ahead.lock();
        ahead.insert(number);
        let mut settled = self.settled.load(Ordering::Relaxed);
        while ahead.remove(&settled) {
            settled += 1;
        }
        self.settled.store(settled, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settles_without_gaps() {
        let sequence = InsertSequence::new(10);
        assert_eq!([sequence.take(), sequence.take(), sequence.take()], [10, 11, 12]);
        sequence.settle(12);
        sequence.settle(11);
        assert_eq!(sequence.settled(), 10);
        sequence.settle(10);
        assert_eq!(sequence.settled(), 13);
        assert_eq!(sequence.take(), 13);
    }
}
