//! The pulses of the sending rate.

use std::f64::consts::PI;
use std::time::Duration;

/// Number of pulses per second. Their period is longer than most round trips, so that cross traffic has time
/// to react within it.
pub(super) const FREQUENCY: f64 = 5.0;

/// The height of a pulse, as a share of the capacity.
const HEIGHT: f64 = 0.25;

/// The part of a period in which the rate is above its mean: short and high, so that a flow with a small rate
/// can pulse too, since its rate falls by only a third of the height.
const UP: f64 = 0.25;

/// The depth between two pulses, as a share of the capacity: it takes away the bytes that a pulse adds.
pub(super) const DEPTH: f64 = HEIGHT * UP / (1.0 - UP);

/// Returns the deviation from the mean rate at `now`, as a share of the capacity: half a sine up, then a
/// longer and flatter half sine down.
pub(super) fn pulse(now: Duration) -> f64 {
    let phase = (now.as_secs_f64() * FREQUENCY).fract();
    if phase < UP {
        HEIGHT * (PI * phase / UP).sin()
    } else {
        -DEPTH * (PI * (phase - UP) / (1.0 - UP)).sin()
    }
}

/// Returns the number of bytes that a pulse adds before it takes them away, for a capacity in bytes per
/// second.
pub(super) fn swing(capacity: f64) -> f64 {
    capacity * HEIGHT * UP / FREQUENCY * 2.0 / PI
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pulse_takes_away_what_it_adds() {
        let at = |micros: u64| pulse(Duration::from_micros(micros));
        let steps: Vec<f64> = (0..200_000).step_by(10).map(at).collect();
        let sum: f64 = steps.iter().sum::<f64>() * 10e-6;
        assert!(sum.abs() < 1e-6, "{sum}");
        let added: f64 = steps.iter().filter(|it| **it > 0.0).sum::<f64>() * 10e-6;
        assert!((added - swing(1.0)).abs() < 1e-5, "{added} instead of {}", swing(1.0));
        assert_eq!(at(25_000), HEIGHT);
        assert!((at(125_000) + DEPTH).abs() < 1e-9);
        assert!((at(225_000) - HEIGHT).abs() < 1e-9);
    }
}
