//! A Zipf distribution whose frequent items lie all over the range.

use rand::Rng;

use super::zipfian::{THETA, Zipfian};

/// Number of ranks that YCSB draws from before it hashes them into the range, for ranges of any size.
const RANKS: u64 = 10_000_000_000;

/// The value of `zeta(RANKS)` for YCSB's skew, which would take minutes to sum.
const ZETA_OF_RANKS: f64 = 26.469_028_201_783_02;

/// A generator of numbers below a fixed count; a few of them, spread by hash, are drawn most often.
///
/// Hashing a long tail of ranks keeps the same items popular when the range grows, and is why the most popular
/// item draws slightly more than `1 / zeta` of the requests.
#[derive(Clone, Debug)]
pub struct ScrambledZipfian {
    ranks: Zipfian,
    items: u64,
}

impl ScrambledZipfian {
    /// Creates a generator over `items` items; 0 counts as 1.
    pub fn new(items: u64) -> Self {
        Self { ranks: Zipfian::with_zeta(RANKS, THETA, ZETA_OF_RANKS), items: items.max(1) }
    }

    /// Draws a number below the count.
    pub fn next(&self, rng: &mut (impl Rng + ?Sized)) -> u64 {
        fnv_hash(self.ranks.next(rng)) % self.items
    }
}

/// Computes YCSB's hash of record numbers: 64-bit FNV-1a over the eight bytes, lowest first, without the
/// sign.
pub fn fnv_hash(number: u64) -> u64 {
    const OFFSET_BASIS: u64 = 0xCBF2_9CE4_8422_2325;
    const PRIME: u64 = 1_099_511_628_211;
    let hash =
        number.to_le_bytes().iter().fold(OFFSET_BASIS, |h, byte| (h ^ u64::from(*byte)).wrapping_mul(PRIME));
    hash.cast_signed().unsigned_abs()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;

    #[test]
    fn hashes_as_ycsb_does() {
        // These are the first keys that a stock YCSB load writes: user6284781860667377211,
        // user8517097267634966620.
        assert_eq!(fnv_hash(0), 6_284_781_860_667_377_211);
        assert_eq!(fnv_hash(1), 8_517_097_267_634_966_620);
    }

    #[test]
    fn the_most_popular_item_is_where_the_hash_says() {
        const DRAWS: u32 = 200_000;
        let scrambled = ScrambledZipfian::new(1000);
        let mut rng = StdRng::seed_from_u64(4);
        let mut counts = vec![0_u32; 1000];
        for _ in 0..DRAWS {
            counts[scrambled.next(&mut rng) as usize] += 1;
        }
        let top = (0..1000).max_by_key(|i| counts[*i]).unwrap();
        assert_eq!(top as u64, fnv_hash(0) % 1000);
        let share = f64::from(counts[top]) / f64::from(DRAWS);
        let least = 1.0 / ZETA_OF_RANKS;
        assert!(share > least - 0.003 && share < least + 0.006, "{share}");
        assert!(counts.iter().all(|count| *count > 0), "the tail covers the whole range");
    }
}
