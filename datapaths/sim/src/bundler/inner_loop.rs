//! The rate of a bundle, from the delay in the path's queue and the rate at which packets leave it.

use std::time::Duration;

/// Part of the distance to the target that the rate makes up for within a round trip. A report is as old as a
/// round trip, so the rate would oscillate if it made up for the whole distance.
const GAIN: f64 = 0.5;

/// Lowest and highest rate, as multiples of the rate at which packets arrive.
const LOWEST: f64 = 0.5;
const HIGHEST: f64 = 1.25;

/// Number of epochs among which the fastest tells the rate of the path.
const RECENT: usize = 16;

/// Lowest rate, in bytes per second, so that reports never end.
const FLOOR: f64 = 10_000.0;

#[derive(Debug)]
pub(super) struct InnerLoop {
    target: Duration,
    /// Rate in bytes per second.
    rate: f64,
    /// Round trip without a queue.
    shortest: Duration,
    /// Rates at which packets arrived in the last epochs, and the number of the next epoch.
    recent: [f64; RECENT],
    epochs: usize,
}

/// The measurement of an epoch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measurement {
    pub(super) round_trip: Duration,
    /// Rate at which the epoch's packets arrived, in bytes per second.
    pub(super) arriving: f64,
    /// True if there was more to send during the whole epoch.
    pub(super) is_backlogged: bool,
}

impl InnerLoop {
    pub(super) fn new(target: Duration) -> Self {
        Self { target, rate: f64::INFINITY, shortest: Duration::MAX, recent: [0.0; RECENT], epochs: 0 }
    }

    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    /// Returns the time that sending `bytes` takes.
    pub(super) fn time_of(&self, bytes: u64) -> Duration {
        // At an infinite rate, sending takes no time.
        Duration::from_secs_f64(bytes as f64 / self.rate)
    }

    /// Returns the number of bytes that the path holds without a queue; zero until it is known.
    pub(super) fn in_flight(&self) -> f64 {
        self.fastest() * self.shortest.as_secs_f64()
    }

    /// Returns the rate of the path, as far as it has shown.
    fn fastest(&self) -> f64 {
        self.recent.iter().copied().fold(0.0, f64::max)
    }

    pub(super) fn on_round_trip(&mut self, round_trip: Duration) {
        self.shortest = self.shortest.min(round_trip);
    }

    pub(super) fn on_epoch(&mut self, epoch: &Measurement) {
        self.recent[self.epochs % RECENT] = epoch.arriving;
        self.epochs += 1;
        let queue = epoch.round_trip.saturating_sub(self.shortest);
        let distance = self.target.as_secs_f64() - queue.as_secs_f64();
        let factor = 1.0 + GAIN * distance / epoch.round_trip.as_secs_f64().max(f64::MIN_POSITIVE);
        let wanted = |rate: f64| (rate * factor.clamp(LOWEST, HIGHEST)).max(FLOOR);
        self.rate = if epoch.is_backlogged {
            wanted(epoch.arriving)
        } else if queue > self.target {
            // Senders that paused within the epoch make the path look slow.
            self.rate.min(wanted(self.fastest()))
        } else {
            // There was less to send than the path takes.
            self.rate.max(wanted(epoch.arriving))
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn epoch(round_trip: u64, arriving: f64, is_backlogged: bool) -> Measurement {
        Measurement { round_trip: ms(round_trip), arriving, is_backlogged }
    }

    #[test]
    fn a_long_queue_lowers_the_rate_and_a_short_one_raises_it() {
        let mut inner_loop = InnerLoop::new(ms(10));
        assert_eq!(inner_loop.in_flight(), 0.0);
        inner_loop.on_round_trip(ms(50));
        inner_loop.on_epoch(&epoch(50, 1e6, false));
        assert_eq!(inner_loop.rate(), f64::INFINITY, "no queue has shown");
        inner_loop.on_epoch(&epoch(100, 1e6, false));
        for (round_trip, kilobytes) in [(100, 800), (60, 1_000), (50, 1_100)] {
            inner_loop.on_epoch(&epoch(round_trip, 1e6, true));
            assert_eq!((inner_loop.rate() / 1e3).round() as u64, kilobytes);
        }
        assert_eq!(inner_loop.in_flight(), 50_000.0);
    }

    #[test]
    fn a_bundle_with_little_to_send_keeps_its_rate() {
        let mut inner_loop = InnerLoop::new(ms(10));
        assert_eq!(inner_loop.in_flight(), 0.0);
        inner_loop.on_round_trip(ms(50));
        inner_loop.on_epoch(&epoch(50, 1e6, false));
        inner_loop.on_epoch(&epoch(60, 1e6, true));
        let before = inner_loop.rate();
        inner_loop.on_epoch(&epoch(50, 1e3, false));
        assert_eq!(inner_loop.rate(), before);
        // A queue lowers the rate, by means of the path's rate.
        inner_loop.on_epoch(&epoch(75, 1e3, false));
        assert_eq!((inner_loop.rate() / 1e3).round(), 900.0);
        inner_loop.on_epoch(&epoch(1_000_000, 0.0, true));
        assert_eq!(inner_loop.rate(), FLOOR);
    }
}
