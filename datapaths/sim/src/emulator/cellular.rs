//! A generator of rates like those of cellular links.
//!
//! The logarithm of the rate is a random walk that is drawn back to its middle, as fading and the load of a
//! cell change within seconds; now and then there is an outage, as when a phone changes its cell.

use crate::rng::Rng;
use std::time::Duration;

/// Time for which a rate holds.
pub(super) const SLOT: Duration = Duration::from_millis(10);

/// Number of slots in a minute.
const SLOTS: usize = 6_000;

/// Share of its distance from the middle that the walk loses in each slot: the walk forgets within about a
/// second.
const PULL: f64 = 0.01;

/// Standard deviation of a step, in powers of two. The walk itself deviates by about one power of two.
const STEP: f64 = 0.14;

/// The bounds of the walk, in powers of two around the middle.
const LOWEST: f64 = -3.0;
const HIGHEST: f64 = 2.0;

/// Probability that an outage begins in a slot, and its longest duration in slots.
const OUTAGE: f64 = 0.001;
const LONGEST_OUTAGE: usize = 33;

/// Returns the rates of the slots, in bytes per second, with this mean.
pub(super) fn rates(mean: u64, seed: u64) -> Vec<u64> {
    let mut rng = Rng::new(seed, 4);
    let mut exponent = 0.0;
    let mut outage = 0;
    // A single outage is certain, so that each trace has at least one.
    let certain = rng.below(SLOTS);
    let relative: Vec<f64> = (0..SLOTS)
        .map(|slot| {
            exponent += STEP * normal(&mut rng) - PULL * exponent;
            exponent = exponent.clamp(LOWEST, HIGHEST);
            let begins = rng.chance(OUTAGE) || slot == certain;
            outage = if begins { 1 + rng.below(LONGEST_OUTAGE) } else { usize::saturating_sub(outage, 1) };
            if outage > 0 { 0.0 } else { exponent.exp2() }
        })
        .collect();
    let scale = mean as f64 * SLOTS as f64 / relative.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    relative.iter().map(|rate| (rate * scale).round() as u64).collect()
}

/// Draws a number with an about normal distribution and a standard deviation of one: the sum of twelve
/// uniform numbers.
fn normal(rng: &mut Rng) -> f64 {
    let sum: f64 = (0..12).map(|_| (rng.next() >> 11) as f64 / (1_u64 << 53) as f64).sum();
    sum - 6.0
}
