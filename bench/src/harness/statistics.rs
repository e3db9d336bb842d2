//! Medians, percentiles, and the ratio of two programs with its confidence interval.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Number of times that the pairs are drawn anew for an interval.
const RESAMPLES: usize = 10_000;

/// The ratio of two medians and its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ratio {
    /// Median of the first program over median of the second.
    pub(crate) estimate: f64,
    /// Lower end of the interval.
    pub(crate) low: f64,
    /// Upper end of the interval.
    pub(crate) high: f64,
}

/// Returns the value below which the given fraction of the samples lies, interpolated between neighbours.
///
/// The fraction is held between 0 and 1. The result is `None` when there are no samples.
pub(crate) fn percentile(samples: &[f64], fraction: f64) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    percentile_of_sorted(&sorted, fraction)
}

/// Returns the middle sample, or the mean of the two samples in the middle; `None` when there are no samples.
pub(crate) fn median(samples: &[f64]) -> Option<f64> {
    percentile(samples, 0.5)
}

/// Returns the ratio median(first) / median(second) over paired samples.
///
/// The interval is the percentile bootstrap: pairs, not single samples, are drawn with replacement, so the
/// common part of a pair (the state of the machine at that moment) stays together. `seed` fixes the draws:
/// equal pairs and seed give an equal result. The result is `None` when there are no pairs, or when the
/// second median is zero.
pub(crate) fn ratio_of_medians(pairs: &[(f64, f64)], seed: u64) -> Option<Ratio> {
    bootstrap(pairs, seed, RESAMPLES)
}

fn bootstrap(pairs: &[(f64, f64)], seed: u64, resamples: usize) -> Option<Ratio> {
    let mut first: Vec<f64> = pairs.iter().map(|pair| pair.0).collect();
    let mut second: Vec<f64> = pairs.iter().map(|pair| pair.1).collect();
    let estimate = ratio(&mut first, &mut second)?;

    let mut draws = StdRng::seed_from_u64(seed);
    let mut ratios = Vec::with_capacity(resamples);
    for _ in 0..resamples {
        for (a, b) in first.iter_mut().zip(&mut second) {
            (*a, *b) = pairs[draws.random_range(0..pairs.len())];
        }
        ratios.push(ratio(&mut first, &mut second)?);
    }
    ratios.sort_unstable_by(f64::total_cmp);
    Some(Ratio {
        estimate,
        low: percentile_of_sorted(&ratios, 0.025)?,
        high: percentile_of_sorted(&ratios, 0.975)?,
    })
}

fn ratio(first: &mut [f64], second: &mut [f64]) -> Option<f64> {
    first.sort_unstable_by(f64::total_cmp);
    second.sort_unstable_by(f64::total_cmp);
    let divisor = percentile_of_sorted(second, 0.5)?;
    (divisor != 0.0).then_some(percentile_of_sorted(first, 0.5)? / divisor)
}

fn percentile_of_sorted(sorted: &[f64], fraction: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = fraction.clamp(0.0, 1.0) * last as f64;
    let below = sorted[position.floor() as usize];
    let above = sorted[position.ceil() as usize];
    Some(below + (above - below) * position.fract())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn percentiles_interpolate() {
        let samples = [40.0, 10.0, 30.0, 20.0];
        assert_eq!(median(&samples), Some(25.0));
        assert_eq!(percentile(&samples, 0.0), Some(10.0));
        assert_eq!(percentile(&samples, 1.0), Some(40.0));
        assert_eq!(percentile(&samples, 1.0 / 3.0), Some(20.0));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn a_constant_ratio_has_no_width() {
        let pairs = [(2.0, 1.0); 31];
        assert_eq!(ratio_of_medians(&pairs, 1), Some(Ratio { estimate: 2.0, low: 2.0, high: 2.0 }));
    }

    #[test]
    fn nothing_to_divide_by_is_no_ratio() {
        assert_eq!(ratio_of_medians(&[], 1), None);
        assert_eq!(ratio_of_medians(&[(1.0, 0.0)], 1), None);
    }

    /// The interval must hold the true ratio about as often as it claims. The percentile bootstrap of a
    /// median covers a little less or more than its 95 %; a wrong resampling covers far less. The seeds are
    /// fixed.
    #[test]
    fn the_interval_covers_the_true_ratio() {
        let covered = (0..200)
            .filter(|&seed| {
                let mut noise = StdRng::seed_from_u64(seed);
                let mut draw = |middle: f64| middle * (1.0 + 0.04 * (noise.random::<f64>() - 0.5));
                let pairs: Vec<_> = (0..31).map(|_| (draw(0.97), draw(1.0))).collect();
                let ratio = bootstrap(&pairs, seed, 300).unwrap();
                (ratio.low..=ratio.high).contains(&0.97)
            })
            .count();
        assert!(covered >= 180, "{covered} of 200");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4))]

        #[test]
        fn equal_input_gives_equal_output(pairs in proptest::collection::vec((1.0..9.0, 1.0..9.0), 1..40), seed: u64) {
            let once = ratio_of_medians(&pairs, seed).unwrap();
            prop_assert_eq!(once, ratio_of_medians(&pairs, seed).unwrap());
            prop_assert!(once.low <= once.high);
        }
    }
}
