//! A count of values that are alive.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A count of values that are alive.
#[derive(Debug, Clone, Default)]
pub(crate) struct LiveCount(Arc<AtomicUsize>);

/// A counted place, from `take` until it is dropped.
#[derive(Debug)]
pub(crate) struct Counted(LiveCount);

impl LiveCount {
    pub(crate) fn taken(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn take(&self) -> Counted {
        self.0.fetch_add(1, Ordering::Relaxed);
        Counted(self.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_counts_until_it_is_dropped() {
        let count = LiveCount::default();
        let places = [(); 3].map(|()| count.take());
        assert_eq!((count.taken(), count.clone().taken()), (3, 3));
        drop(places);
        assert_eq!(count.taken(), 0);
    }
}
