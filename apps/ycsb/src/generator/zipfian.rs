//! The Zipf distribution: rank `i` (from 0) is drawn in proportion to `1 / (i + 1)^theta`.

use rand::{Rng, RngExt};

/// Skew of YCSB.
pub const THETA: f64 = 0.99;

/// A generator of ranks below a number of items, of which rank 0 is the most frequent.
///
/// The generator inverts an approximation of the distribution function in constant time, after Gray et al.,
/// "Quickly generating billion-record synthetic databases", SIGMOD 1994. The normalising sum `zeta(n)` costs
/// `n` steps at first, and only a step for each new item when the number of items grows.
#[derive(Clone, Debug)]
pub struct Zipfian {
    items: u64,
    theta: f64,
    zeta: f64,
    zeta_of_two: f64,
    alpha: f64,
    eta: f64,
}

impl Zipfian {
    /// Creates a generator over `items` items (at least 1 is assumed) with skew `theta`, which lies between 0
    /// and 1.
    pub fn new(items: u64, theta: f64) -> Self {
        let items = items.max(1);
        Self::with_zeta(items, theta, add_terms(0.0, 0, items, theta))
    }

    /// Creates a generator as [`Zipfian::new`], with the normalising sum already known, for item counts that
    /// are too large to sum over.
    pub fn with_zeta(items: u64, theta: f64, zeta: f64) -> Self {
        let mut zipfian = Self {
            items,
            theta,
            zeta,
            zeta_of_two: add_terms(0.0, 0, 2, theta),
            alpha: 1.0 / (1.0 - theta),
            eta: 0.0,
        };
        zipfian.set_eta();
        zipfian
    }

    /// Extends the range to `items` items. The range never shrinks.
    pub fn grow(&mut self, items: u64) {
        if items > self.items {
            self.zeta = add_terms(self.zeta, self.items, items, self.theta);
            self.items = items;
            self.set_eta();
        }
    }

    /// Returns the number of items.
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Returns the normalising sum: rank 0 is drawn with probability `1 / zeta`.
    pub fn zeta(&self) -> f64 {
        self.zeta
    }

    /// Draws a rank below [`Zipfian::items`].
    pub fn next(&self, rng: &mut (impl Rng + ?Sized)) -> u64 {
        let uniform: f64 = rng.random();
        let scaled = uniform * self.zeta;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < self.zeta_of_two {
            return 1.min(self.items - 1);
        }
        let fraction = (self.eta * uniform - self.eta + 1.0).powf(self.alpha);
        // Rounding may reach the number of items itself.
        ((self.items as f64 * fraction) as u64).min(self.items - 1)
    }

    fn set_eta(&mut self) {
        self.eta =
            (1.0 - (2.0 / self.items as f64).powf(1.0 - self.theta)) / (1.0 - self.zeta_of_two / self.zeta);
    }
}

fn add_terms(sum: f64, from: u64, to: u64, theta: f64) -> f64 {
    (from..to).fold(sum, |sum, i| sum + 1.0 / ((i + 1) as f64).powf(theta))
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;

    #[test]
    fn frequencies_follow_the_law() {
        const DRAWS: usize = 400_000;
        let zipfian = Zipfian::new(1000, THETA);
        let mut rng = StdRng::seed_from_u64(1);
        let mut counts = vec![0_u32; 1000];
        for _ in 0..DRAWS {
            counts[zipfian.next(&mut rng) as usize] += 1;
        }
        // The first two ranks are exact in Gray's algorithm; the sums below smooth its approximation of the
        // rest.
        for rank in [0, 1] {
            let p = 1.0 / ((rank + 1) as f64).powf(THETA) / zipfian.zeta();
            let deviation = (DRAWS as f64 * p * (1.0 - p)).sqrt();
            let off = (f64::from(counts[rank]) - DRAWS as f64 * p).abs();
            assert!(off < 5.0 * deviation, "rank {rank}: {} of {}", counts[rank], DRAWS as f64 * p);
        }
        for head in [10, 100, 500] {
            let p = add_terms(0.0, 0, head, THETA) / zipfian.zeta();
            let share = f64::from(counts[..head as usize].iter().sum::<u32>()) / DRAWS as f64;
            assert!((share - p).abs() < 0.02, "first {head}: {share} instead of {p}");
        }
    }

    #[test]
    fn growing_equals_starting_large() {
        let mut grown = Zipfian::new(10, THETA);
        grown.grow(500);
        grown.grow(20);
        let large = Zipfian::new(500, THETA);
        assert_eq!(grown.items(), 500);
        assert!((grown.zeta() - large.zeta()).abs() < 1e-9);
        let (mut a, mut b) = (StdRng::seed_from_u64(2), StdRng::seed_from_u64(2));
        for _ in 0..1000 {
            assert_eq!(grown.next(&mut a), large.next(&mut b));
        }
    }

    #[test]
    fn tiny_ranges_stay_within_bounds() {
        let mut rng = StdRng::seed_from_u64(3);
        for items in 1..5 {
            let zipfian = Zipfian::new(items, THETA);
            let largest = (0..10_000).map(|_| zipfian.next(&mut rng)).max();
            assert_eq!(largest, Some(items - 1));
        }
    }
}
