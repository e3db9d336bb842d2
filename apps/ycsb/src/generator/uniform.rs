//! A uniform distribution: every number is as likely as any other.

use rand::{Rng, RngExt};

/// A generator of numbers below a fixed count.
#[derive(Clone, Copy, Debug)]
pub struct Uniform {
    items: u64,
}

impl Uniform {
    /// Creates a generator over `items` items; 0 counts as 1.
    pub fn new(items: u64) -> Self {
        Self { items: items.max(1) }
    }

    /// Draws a number below the count.
    pub fn next(&self, rng: &mut (impl Rng + ?Sized)) -> u64 {
        rng.random_range(0..self.items)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;

    #[test]
    fn all_are_equally_frequent() {
        const DRAWS: u32 = 100_000;
        let mut rng = StdRng::seed_from_u64(6);
        let mut counts = [0_u32; 10];
        for _ in 0..DRAWS {
            counts[Uniform::new(10).next(&mut rng) as usize] += 1;
        }
        // Pearson's statistic with 9 degrees of freedom exceeds 33.7 once in 10,000.
        let mean = f64::from(DRAWS) / 10.0;
        let chi_squared: f64 = counts.iter().map(|c| (f64::from(*c) - mean).powi(2) / mean).sum();
        assert!(chi_squared < 33.7, "{counts:?}");
    }
}
