//! The buckets of a histogram of times.
//!
//! Each factor of two from a microsecond to half a minute is divided into four buckets of equal width: the
//! bounds of a bucket are at most a quarter apart, and its index is computed from the bits of the time,
//! without a table or a search.

use std::time::Duration;

/// The number of buckets for each factor of two, as a power of two.
pub(super) const SPLIT: u32 = 2;

/// The upper bound of the first bucket: 2^10 nanoseconds.
const FIRST: u32 = 10;

/// The number of factors of two: up to 2^35 nanoseconds, 34 seconds.
pub(super) const OCTAVES: usize = 25;

/// The number of buckets, with a bucket for all shorter times, and a bucket for all longer times.
pub(super) const BUCKETS: usize = 1 + (OCTAVES << SPLIT) + 1;

/// Returns the bucket of a time. A bucket includes its upper bound, as in Prometheus.
#[inline]
pub(super) fn bucket(nanos: u64) -> usize {
    let Some(above) = nanos.checked_sub((1 << FIRST) + 1) else { return 0 };
    let shifted = above + (1 << FIRST);
    let octave = shifted.ilog2() - FIRST;
    let within = (shifted >> (octave + FIRST - SPLIT)) & ((1 << SPLIT) - 1);
    (1 + ((octave as usize) << SPLIT) + within as usize).min(BUCKETS - 1)
}

/// Returns the longest time in a bucket; `None` for the last bucket.
pub(super) fn upper_bound(bucket: usize) -> Option<Duration> {
    let Some(place) = bucket.checked_sub(1) else { return Some(Duration::from_nanos(1 << FIRST)) };
    let octave = place >> SPLIT;
    let within = place & ((1 << SPLIT) - 1);
    let quarter = 1_u64 << (octave as u32 + FIRST - SPLIT);
    (octave < OCTAVES).then(|| Duration::from_nanos(quarter * ((1 << SPLIT) + 1 + within as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bounds_grow_by_a_quarter_at_most_and_end_at_half_a_minute() {
        let bounds: Vec<u64> =
            (0..BUCKETS - 1).map(|bucket| upper_bound(bucket).unwrap().as_nanos() as u64).collect();
        assert_eq!((bounds[0], bounds[1], bounds[4], bounds[8]), (1024, 1280, 2048, 4096));
        assert!(bounds.windows(2).all(|two| two[0] < two[1] && two[1] - two[0] <= two[0] / 4));
        assert_eq!(bounds.last(), Some(&(1 << 35)));
        assert_eq!(upper_bound(BUCKETS - 1), None);
    }

    proptest! {
        #[test]
        fn a_time_is_in_the_first_bucket_that_reaches_it(nanos in prop_oneof![0..10_000_u64, 0..1_u64 << 37, any::<u64>()]) {
            let time = Duration::from_nanos(nanos);
            let expected = (0..BUCKETS).find(|&it| upper_bound(it).is_none_or(|bound| time <= bound));
            prop_assert_eq!(Some(bucket(nanos)), expected);
        }
    }
}
