//! The record of past spins, which says whether spinning pays.

use std::sync::atomic::{AtomicU32, Ordering};

/// Number of consecutive spins without a message after which spinning is given up.
const FUTILE: u32 = 4;

/// Smallest interval, in waits, between spins that probe whether spinning pays again. The interval doubles
/// after each futile spin.
const MIN_RETRY: u32 = 32;

/// Largest interval between such spins: where both ends share a core for long, spins that keep the other end
/// from running are rare.
const MAX_RETRY: u32 = 4096;

/// Outcomes of the last spins at a source.
///
/// Where both ends share a core, a spin only keeps the other end from running: each wait then takes as long
/// as it spins. Relaxed accesses suffice for a statistic: a lost update costs a single spin.
#[derive(Debug)]
pub struct SpinHistory {
    /// Number of consecutive spins without a message, at most [`FUTILE`].
    futile: AtomicU32,
    /// Number of waits since the last spin.
    skipped: AtomicU32,
    /// Interval in waits between two spins, once spinning is given up.
    retry: AtomicU32,
}

impl Default for SpinHistory {
    fn default() -> Self {
        let [futile, skipped] = [AtomicU32::new(0), AtomicU32::new(0)];
        Self { futile, skipped, retry: AtomicU32::new(MIN_RETRY) }
    }
}

impl SpinHistory {
    /// Returns true if the wait that begins should spin.
    #[inline]
    pub fn should_spin(&self) -> bool {
        if self.futile.load(Ordering::Relaxed) < FUTILE {
            return true;
        }
        let skipped = self.skipped.load(Ordering::Relaxed) + 1;
        let retry = self.retry.load(Ordering::Relaxed);
        if skipped < retry {
            self.skipped.store(skipped, Ordering::Relaxed);
            return false;
        }
        self.skipped.store(0, Ordering::Relaxed);
        self.retry.store((2 * retry).min(MAX_RETRY), Ordering::Relaxed);
        true
    }

    /// Records a spin that ended with a message.
    #[inline]
    pub fn on_hit(&self) {
        if self.futile.swap(0, Ordering::Relaxed) >= FUTILE {
            self.retry.store(MIN_RETRY, Ordering::Relaxed);
        }
    }

    /// Records a spin that ended without a message.
    pub fn on_miss(&self) {
        let futile = self.futile.load(Ordering::Relaxed);
        self.futile.store((futile + 1).min(FUTILE), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn futile_spins_become_ever_rarer_until_one_pays() {
        let history = SpinHistory::default();
        for _ in 0..2 {
            for _ in 0..FUTILE {
                assert!(history.should_spin());
                history.on_miss();
            }
            let mut retry = MIN_RETRY;
            for _ in 0..12 {
                let waits = (0..retry).filter(|_| history.should_spin()).count();
                assert_eq!(waits, 1);
                history.on_miss();
                retry = (2 * retry).min(MAX_RETRY);
            }
            history.on_hit();
            assert!(history.should_spin() && history.should_spin());
        }
    }
}
