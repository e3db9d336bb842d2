//! The rule by which a waiting end looks at the ring for a while before the kernel has it wait.

use std::sync::atomic::{AtomicU32, Ordering};

/// Number of futile spins, less those that have paid, after which a wait parks at once.
const FUTILE: u32 = 4;

/// Number of waits between two spins that look whether spinning pays again, at first and at last. It doubles after each futile one.
const FIRST_PAUSE: u32 = 32;
const LAST_PAUSE: u32 = 4096;

/// The outcomes of the last spins. Where the other end needs this processor, or answers after a long time, spins are futile, and soon there are
/// almost none: an idle program takes no processor time.
#[derive(Debug)]
pub struct Spins {
    /// Number of futile spins, less those that have paid, between zero and [`FUTILE`]: a futile one costs about what another saves.
    futile: AtomicU32,
    /// Number of waits since the last spin.
    skipped: AtomicU32,
    /// Number of waits between two spins.
    pause: AtomicU32,
}

impl Default for Spins {
    fn default() -> Self {
        Self::new()
    }
}

impl Spins {
    /// Makes a record without spins.
    pub const fn new() -> Self {
        let [futile, skipped] = [AtomicU32::new(0), AtomicU32::new(0)];
        Self { futile, skipped, pause: AtomicU32::new(FIRST_PAUSE) }
    }

    /// Forgets all spins.
    pub fn clear(&self) {
        self.futile.store(0, Ordering::Relaxed);
        self.skipped.store(0, Ordering::Relaxed);
        self.pause.store(FIRST_PAUSE, Ordering::Relaxed);
    }

    /// Returns true if the wait that begins now should spin.
    #[inline]
    pub fn begins(&self) -> bool {
        // Relaxed: an update that is lost costs a spin.
        if self.futile.load(Ordering::Relaxed) < FUTILE {
            return true;
        }
        let skipped = self.skipped.load(Ordering::Relaxed) + 1;
        let pause = self.pause.load(Ordering::Relaxed);
        let is_due = skipped >= pause;
        self.skipped.store(if is_due { 0 } else { skipped }, Ordering::Relaxed);
        if is_due {
            self.pause.store((2 * pause).min(LAST_PAUSE), Ordering::Relaxed);
        }
        is_due
    }

    /// Notes whether a spin has ended with bytes.
    #[inline]
    pub fn ended(&self, has_paid: bool) {
        let futile = self.futile.load(Ordering::Relaxed);
        let now = if has_paid { futile.saturating_sub(1) } else { (futile + 1).min(FUTILE) };
        if now != futile {
            self.futile.store(now, Ordering::Relaxed);
        }
        if has_paid && futile == FUTILE {
            self.pause.store(FIRST_PAUSE, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of spins in so many waits.
    fn spins(of: &Spins, waits: u32, has_paid: bool) -> usize {
        (0..waits)
            .filter(|_| {
                of.begins() && {
                    of.ended(has_paid);
                    true
                }
            })
            .count()
    }

    #[test]
    fn waits_spin_as_long_as_it_pays() {
        let of = Spins::new();
        assert_eq!(spins(&of, 1000, true), 1000);
    }

    #[test]
    fn waits_whose_spins_are_futile_more_often_than_not_spin_rarely() {
        let of = Spins::new();
        let spun = (0..3000).filter(|wait| {
            of.begins() && {
                of.ended(wait % 3 == 0);
                true
            }
        });
        assert!(spun.count() < 500);
    }

    #[test]
    fn futile_spins_become_rare_until_one_pays() {
        let of = Spins::new();
        for futile in [FUTILE, 1] {
            assert_eq!(spins(&of, futile, false), futile as usize);
            assert_eq!(spins(&of, FIRST_PAUSE, false), 1);
            assert_eq!(spins(&of, 2 * FIRST_PAUSE, false), 1);
            spins(&of, 1 << 20, false);
            assert_eq!(spins(&of, 10 * LAST_PAUSE, false), 10);
            // The next one that is due pays.
            assert_eq!((0..LAST_PAUSE).filter(|_| of.begins()).count(), 1);
            of.ended(true);
        }
        of.clear();
        assert!(of.begins());
    }
}
