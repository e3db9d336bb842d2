//! The number of bytes that keep a path busy.
//!
//! Bytes in flight beyond that wait in a queue of a router, or in the peer's socket, which loses nothing and so signals no
//! congestion. Bytes that wait unsent beyond that were copied too early, and have left the processor's cache when they are sent.

use std::time::Duration;

/// The multiple of the bytes delivered in the shortest round-trip time. A congestion control probes with a queue as large as the
/// path's capacity, BBR starts with nearly three times as much (its draft, section 2.5), and the estimate must not limit a
/// window that doubles.
const FACTOR: u64 = 4;

/// The minimum in bytes and in packets, so that a peer that is scheduled late always finds some.
const MIN: u64 = 256 * 1024;
const MIN_PACKETS: u64 = 8;

/// The time for which a round-trip time counts as the shortest, at least; at most twice as long. Paths change, as BBR assumes.
const LIFETIME: Duration = Duration::from_secs(10);

/// The inverse of the part by which the rate decays with each sample.
const DECAY: u64 = 64;

/// The inverse of the weight of a new spread.
const SMOOTHING: u32 = 16;

#[derive(Debug, Default)]
pub(super) struct Reach {
    /// The highest recent delivery rate, decaying, in bytes per second.
    rate: u64,
    /// The shortest round-trip times since `since`, and in the lifetime before.
    shortest: Option<Duration>,
    before: Option<Duration>,
    since: Duration,
    /// The smoothed time by which packets are acknowledged later than the newest with them: they stay in flight longer than the
    /// shortest round trip, and in no queue.
    spread: Duration,
    /// The result, computed once per acknowledgement and read once per message.
    bytes: u64,
}

impl Reach {
    /// Takes in the samples of an acknowledgement: the delivery rate, or zero, the round-trip time and the spread.
    pub(super) fn sample(&mut self, rate: u64, round_trip: Duration, spread: Duration, now: Duration) {
        self.spread = self.spread - self.spread / SMOOTHING + spread / SMOOTHING;
        if rate > 0 {
            self.rate = rate.max(self.rate - self.rate / DECAY);
        }
        if now >= self.since + LIFETIME {
            (self.before, self.shortest, self.since) = (self.shortest.take(), None, now);
        }
        self.shortest = Some(self.shortest.map_or(round_trip, |shortest| shortest.min(round_trip)));
        let shortest = self.shortest.into_iter().chain(self.before).min().unwrap_or_default();
        let stay = shortest.saturating_add(self.spread);
        let delivered = u128::from(self.rate).saturating_mul(stay.as_nanos()) / 1_000_000_000;
        self.bytes = u64::try_from(delivered).unwrap_or(u64::MAX).saturating_mul(FACTOR);
    }

    /// Returns the bytes that may be in flight, and as many that may wait unsent, in packets of `packet` bytes.
    #[inline]
    pub(super) fn bytes(&self, packet: usize) -> u64 {
        self.bytes.max(MIN).max(MIN_PACKETS * packet as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn it_is_four_times_what_the_path_holds() {
        let mut reach = Reach::default();
        assert_eq!(reach.bytes(1_000), MIN);
        assert_eq!(reach.bytes(60_000), 480_000);
        reach.sample(10_000_000, ms(100), Duration::ZERO, ms(100));
        assert_eq!(reach.bytes(1_000), 4_000_000);
        // A queue makes round trips longer, and the path no larger.
        reach.sample(10_000_000, ms(300), Duration::ZERO, ms(400));
        assert_eq!(reach.bytes(1_000), 4_000_000);
        reach.sample(0, ms(100), Duration::ZERO, ms(500));
        assert_eq!(reach.bytes(1_000), 4_000_000);
    }

    #[test]
    fn a_rate_fades_and_a_round_trip_time_is_forgotten() {
        let mut reach = Reach::default();
        reach.sample(10_000_000, ms(100), Duration::ZERO, ms(100));
        for step in 0..1_000 {
            reach.sample(5_000_000, ms(200), Duration::ZERO, ms(100 + step));
        }
        assert_eq!(reach.bytes(1_000), 2_000_000);
        for second in 11..40 {
            reach.sample(5_000_000, ms(200), Duration::ZERO, ms(second * 1_000));
        }
        assert_eq!(reach.bytes(1_000), 4_000_000);
    }

    #[test]
    fn packets_that_are_overtaken_stay_in_flight_longer() {
        let mut reach = Reach::default();
        for step in 0..100 {
            reach.sample(10_000_000, ms(100), ms(50), ms(100 + step));
        }
        assert!((5_900_000..=6_000_000).contains(&reach.bytes(1_000)), "{}", reach.bytes(1_000));
    }

    #[test]
    fn nothing_overflows() {
        let mut reach = Reach::default();
        reach.sample(u64::MAX, Duration::MAX, Duration::MAX, Duration::MAX);
        assert_eq!(reach.bytes(1_000), u64::MAX);
    }
}
