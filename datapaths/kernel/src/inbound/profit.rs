//! Whether spinning pays.

use std::sync::atomic::{AtomicU32, Ordering};

/// So many spins in a row without a message, and spinning is given up.
const FUTILE: u32 = 4;

/// Then one wait in so many spins again, to find out whether that has changed.
const RETRY: u32 = 32;

/// How the last spins at a socket ended.
///
/// Where both ends share a core, a spin only keeps the other end from running: each wait then takes as long as it spins.
/// The relaxed operations are a statistic; a lost update costs a spin.
#[derive(Debug, Default)]
pub(super) struct Profit {
    futile: AtomicU32,
}

impl Profit {
    /// Whether the wait that begins should spin.
    pub(super) fn expected(&self) -> bool {
        let futile = self.futile.load(Ordering::Relaxed);
        if futile < FUTILE {
            return true;
        }
        self.futile.store(FUTILE + (futile + 1 - FUTILE) % RETRY, Ordering::Relaxed);
        futile == FUTILE + RETRY - 1
    }

    /// A spin has ended with a message.
    pub(super) fn hit(&self) {
        self.futile.store(0, Ordering::Relaxed);
    }

    /// A spin has ended without one.
    pub(super) fn missed(&self) {
        let futile = self.futile.load(Ordering::Relaxed);
        self.futile.store((futile + 1).min(FUTILE), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn futile_spins_become_rare_until_one_pays() {
        let profit = Profit::default();
        for _ in 0..FUTILE {
            assert!(profit.expected());
            profit.missed();
        }
        for _ in 0..3 {
            let waits = (0..RETRY).filter(|_| profit.expected()).count();
            assert_eq!(waits, 1);
            profit.missed();
        }
        profit.hit();
        assert!(profit.expected() && profit.expected());
    }
}
