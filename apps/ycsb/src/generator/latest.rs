//! A Zipf distribution over age: the newest item is the most frequent.

use rand::Rng;

use super::zipfian::{THETA, Zipfian};

/// A generator of numbers up to the newest, which grows as items are inserted.
#[derive(Clone, Debug)]
pub struct Latest {
    age: Zipfian,
}

impl Latest {
    /// Creates a generator over `items` items to begin with; 0 counts as 1.
    pub fn new(items: u64) -> Self {
        Self { age: Zipfian::new(items, THETA) }
    }

    /// Draws a number from 0 to `newest`, mostly close to `newest`.
    pub fn next(&mut self, newest: u64, rng: &mut (impl Rng + ?Sized)) -> u64 {
        self.age.grow(newest.saturating_add(1));
        newest.saturating_sub(self.age.next(rng))
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;

    #[test]
    fn the_newest_leads_as_it_moves() {
        const DRAWS: u32 = 100_000;
        let mut latest = Latest::new(100);
        let mut rng = StdRng::seed_from_u64(5);
        for newest in [99, 299] {
            let hits = (0..DRAWS).filter(|_| {
                let drawn = latest.next(newest, &mut rng);
                assert!(drawn <= newest);
                drawn == newest
            });
            let share = hits.count() as f64 / f64::from(DRAWS);
            let p = 1.0 / Zipfian::new(newest + 1, THETA).zeta();
            assert!((share - p).abs() < 0.008, "{share} instead of {p}");
        }
    }
}
