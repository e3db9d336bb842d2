//! Pseudo-random numbers from a seed.

use std::time::Duration;

/// A generator of the SplitMix64 kind: it is short, and stable, so that a seed keeps its meaning.
#[derive(Debug)]
pub(super) struct Dice(pub(super) u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 to below 1.
    fn fraction(&mut self) -> f64 {
        (self.roll() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns true with this probability.
    pub(super) fn chance(&mut self, probability: f64) -> bool {
        self.fraction() < probability
    }

    /// Returns a time up to `max`.
    pub(super) fn up_to(&mut self, max: Duration) -> Duration {
        max.mul_f64(self.fraction())
    }
}
