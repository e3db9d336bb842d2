//! Random numbers that depend only on the seed.

use std::time::Duration;

/// SplitMix64. The algorithm is implemented here, since a seed that found a fault must find it again after an
/// update of dependencies.
#[derive(Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    /// Creates the generator number `purpose` of `seed`. The generators of a seed are independent of each
    /// other, so that an additional draw for one purpose leaves all others as they were.
    pub(crate) fn new(seed: u64, purpose: u64) -> Self {
        let mut rng = Self(seed);
        let base = rng.next();
        Self(base ^ Self(purpose).next())
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `bound`, or zero if `bound` is zero.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    /// Returns true with this probability.
    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        // The number is drawn in any case, so that runs with a rate of zero and with a rate of a millionth
        // are otherwise alike.
        ((self.next() >> 11) as f64) < probability * (1u64 << 53) as f64
    }

    /// Returns a duration up to `most`.
    pub(crate) fn up_to(&mut self, most: Duration) -> Duration {
        let nanos = u64::try_from(most.as_nanos()).unwrap_or(u64::MAX);
        Duration::from_nanos(((u128::from(self.next()) * (u128::from(nanos) + 1)) >> 64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::Rng;
    use std::time::Duration;

    #[test]
    fn chance_is_met_and_certain_at_its_ends() {
        let mut rng = Rng::new(1, 0);
        let hits = (0..10_000).filter(|_| rng.chance(0.2)).count();
        assert!((1_800..2_200).contains(&hits), "{hits} of 10000 at a probability of 0.2");
        assert!((0..1_000).all(|_| rng.chance(1.0)));
        assert!(!(0..1_000).any(|_| rng.chance(0.0)));
    }

    #[test]
    fn numbers_stay_within_their_bounds_and_reach_them() {
        let mut rng = Rng::new(2, 0);
        let mut seen = [false; 5];
        (0..1_000).for_each(|_| seen[rng.below(5)] = true);
        assert_eq!(seen, [true; 5]);
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.up_to(Duration::ZERO), Duration::ZERO);
        assert!((0..1_000).all(|_| rng.up_to(Duration::from_millis(3)) <= Duration::from_millis(3)));
    }

    #[test]
    fn purposes_differ() {
        assert_ne!(Rng::new(3, 0).next(), Rng::new(3, 1).next());
        assert_ne!(Rng::new(3, 0).next(), Rng::new(4, 0).next());
        assert_eq!(Rng::new(3, 1).next(), Rng::new(3, 1).next());
    }
}
