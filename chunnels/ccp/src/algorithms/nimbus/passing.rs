//! The rate at which a sendbox lets the flows of its bundle compete for themselves.

use std::time::Duration;

/// The delay in the sendbox: pulses need packets that wait, and add up to 8 ms of them.
const TARGET: f64 = 0.010;

/// The weights of the distance from [`TARGET`], and of the change of the delay, in capacities per second of delay and second (the paper's
/// 10 and 10).
const DISTANCE: f64 = 10.0;
const CHANGE: f64 = 10.0;

/// The highest rate, in capacities: the rate of packets that enter the sendbox is above the capacity only for a moment.
const HIGHEST: f64 = 2.0;

/// A proportional-integral controller that keeps the queue of a sendbox at [`TARGET`], whatever rate that takes: the queue beyond it is the
/// path's, where the flows of the bundle compete with others by their own congestion controls (Cangialosi and others, Bundler, section
/// 5.1).
#[derive(Debug, Clone, Copy)]
pub(super) struct Passing {
    /// The rate as a share of the capacity.
    rate: f64,
    /// The time of the last step, and the delay of that time in seconds.
    last: Option<(Duration, f64)>,
}

impl Passing {
    /// Starts at a share of the capacity.
    pub(super) fn new(rate: f64) -> Self {
        Self { rate, last: None }
    }

    /// Returns the rate at `now` as a share of the capacity, while what waits takes `delay` seconds at the capacity.
    pub(super) fn step(&mut self, now: Duration, delay: f64) -> f64 {
        if let Some((at, before)) = self.last {
            let seconds = now.saturating_sub(at).as_secs_f64().min(TARGET);
            self.rate += DISTANCE * (delay - TARGET) * seconds + CHANGE * (delay - before);
            self.rate = self.rate.clamp(0.0, HIGHEST);
        }
        self.last = Some((now, delay));
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the delays of ten seconds of a queue into which packets come at `arriving` capacities.
    fn delays(arriving: f64) -> Vec<f64> {
        let (mut passing, mut delay) = (Passing::new(0.5), 0.05);
        let step = |tick| {
            let rate = passing.step(Duration::from_millis(10) * tick, delay);
            delay = (delay + (arriving - rate) * 0.010).max(0.0);
            delay
        };
        (0..1_000).map(step).collect()
    }

    #[test]
    fn the_queue_comes_to_its_target_whatever_the_rate_of_the_packets() {
        for arriving in [0.2, 0.5, 0.9] {
            let delays = delays(arriving);
            let last = &delays[900..];
            assert!(last.iter().all(|delay| (0.008..0.012).contains(delay)), "{arriving}: {last:?}");
        }
    }

    #[test]
    fn more_packets_than_ever_arrive_change_the_rate_by_bounds_only() {
        let mut passing = Passing::new(0.5);
        passing.step(Duration::ZERO, 0.0);
        assert_eq!(passing.step(Duration::from_secs(1), 1e9), HIGHEST);
        assert_eq!(passing.step(Duration::from_secs(2), 0.0), 0.0);
    }
}
