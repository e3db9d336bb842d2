//! The times at which packets may leave.

use std::time::Duration;

/// Time by which a packet may be ahead of its rate, so that a timer that is late costs nothing.
const AHEAD: Duration = Duration::from_millis(1);

/// The longest pause after a packet: a rate that is lower is this low for a packet at least.
const LONGEST: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Pacer {
    /// In bytes per second; `None` without a limit.
    rate: Option<u64>,
    /// Time from which on the next packet may leave.
    free_at: Duration,
}

impl Pacer {
    pub(super) fn new(rate: Option<u64>) -> Self {
        Self { rate, free_at: Duration::ZERO }
    }

    pub(super) fn rate(&self) -> Option<u64> {
        self.rate
    }

    pub(super) fn free_at(&self) -> Duration {
        self.free_at
    }

    /// Sets the rate. A pause that has begun is as long as at the new rate.
    pub(super) fn set_rate(&mut self, now: Duration, rate: Option<u64>) {
        let pause = self.free_at.saturating_sub(now);
        let factor = match (self.rate, rate) {
            (Some(old), Some(new)) => old as f64 / new.max(1) as f64,
            (None, Some(_)) => 1.0,
            (_, None) => 0.0,
        };
        self.free_at = self.free_at.min(now) + pause.mul_f64(factor.min(1e6)).min(LONGEST);
        self.rate = rate;
    }

    /// Returns the time that sending `bytes` takes.
    pub(super) fn time_of(&self, bytes: u64) -> Duration {
        let rate = self.rate.map_or(f64::INFINITY, |rate| rate.max(1) as f64);
        Duration::try_from_secs_f64(bytes as f64 / rate).unwrap_or(Duration::MAX)
    }

    /// Counts a packet of `len` bytes that leaves at `now`.
    pub(super) fn on_sent(&mut self, now: Duration, len: u64) {
        self.free_at = self.free_at.max(now.saturating_sub(AHEAD)) + self.time_of(len).min(LONGEST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn packets_leave_at_the_rate_however_late_the_timer_is() {
        let mut pacer = Pacer::new(Some(1_000_000));
        let (mut now, mut sent) = (Duration::ZERO, 0);
        while now < 1_000 * MS {
            while pacer.free_at() <= now {
                pacer.on_sent(now, 100);
                sent += 100;
            }
            now = pacer.free_at() + Duration::from_micros(700);
        }
        assert!((999_000..1_003_000).contains(&sent), "{sent}");
        // After a pause, at most a millisecond is made up for.
        now += 500 * MS;
        let mut burst = 0;
        while pacer.free_at() <= now {
            pacer.on_sent(now, 100);
            burst += 100;
        }
        assert!((1_000..=1_100).contains(&burst), "{burst}");
    }

    #[test]
    fn a_new_rate_changes_the_pause_that_has_begun() {
        let mut pacer = Pacer::new(Some(10_000));
        pacer.on_sent(10 * MS, 1_000);
        assert_eq!(pacer.free_at(), 109 * MS);
        pacer.set_rate(29 * MS, Some(20_000));
        assert_eq!(pacer.free_at(), 69 * MS);
        pacer.set_rate(49 * MS, Some(10_000));
        assert_eq!(pacer.free_at(), 89 * MS);
        pacer.set_rate(69 * MS, None);
        assert_eq!((pacer.free_at(), pacer.time_of(1_000)), (69 * MS, Duration::ZERO));
        let mut slow = Pacer::new(Some(0));
        slow.on_sent(MS, 1_500);
        assert_eq!(slow.free_at(), LONGEST);
    }
}
