//! How many bytes a path has use for.
//!
//! What is in flight beyond that stands in a queue: in a router, or in the peer's socket, which loses nothing and so never says to
//! stop. And what waits here beyond that was copied long before it goes. Where both ends share a machine's memory with other
//! connections, such bytes have left the processor's cache when they are needed again.

use std::time::Duration;

/// How many times what is delivered in the shortest round-trip time. A congestion control fills a queue of as much again as the
/// path holds to find out how much that is, BBR starts with not quite three times as much (its draft, section 2.5); and the estimate
/// must not hold back a window that doubles.
const TIMES: u64 = 4;

/// The least, in bytes and in packets, so that a peer that takes its turn among others always finds some.
const LEAST: u64 = 256 * 1024;
const LEAST_PACKETS: u64 = 8;

/// For how long a round-trip time counts as the shortest, at least; twice as long at most. Paths change (BBR does the same).
const LIFE: Duration = Duration::from_secs(10);

/// What part of the rate is forgotten with each acknowledgement that gives a sample.
const FADES: u64 = 64;

#[derive(Debug, Default)]
pub(super) struct Reach {
    /// About the highest rate of delivery of late, in bytes per second.
    rate: u64,
    /// The shortest round-trip times since `since`, and in the time before.
    shortest: Option<Duration>,
    before: Option<Duration>,
    since: Duration,
    /// How many bytes that makes. Kept, since it is asked for with each message.
    bytes: u64,
}

impl Reach {
    /// Takes in what an acknowledgement showed: the rate of delivery, or zero, and the round-trip time.
    pub(super) fn sample(&mut self, rate: u64, round_trip: Duration, now: Duration) {
        if rate > 0 {
            self.rate = rate.max(self.rate - self.rate / FADES);
        }
        if now >= self.since + LIFE {
            (self.before, self.shortest, self.since) = (self.shortest.take(), None, now);
        }
        self.shortest = Some(self.shortest.map_or(round_trip, |shortest| shortest.min(round_trip)));
        let shortest = self.shortest.into_iter().chain(self.before).min().unwrap_or_default();
        let delivered = u128::from(self.rate).saturating_mul(shortest.as_nanos()) / 1_000_000_000;
        self.bytes = u64::try_from(delivered).unwrap_or(u64::MAX).saturating_mul(TIMES);
    }

    /// How many bytes may be in flight, and as many wait, so that the path is never short of any, in packets of `packet` bytes.
    #[inline]
    pub(super) fn bytes(&self, packet: usize) -> u64 {
        self.bytes.max(LEAST).max(LEAST_PACKETS * packet as u64)
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
        assert_eq!(reach.bytes(1_000), LEAST);
        assert_eq!(reach.bytes(60_000), 480_000);
        reach.sample(10_000_000, ms(100), ms(100));
        assert_eq!(reach.bytes(1_000), 4_000_000);
        // A queue makes round trips longer, and the path no larger.
        reach.sample(10_000_000, ms(300), ms(400));
        assert_eq!(reach.bytes(1_000), 4_000_000);
        reach.sample(0, ms(100), ms(500));
        assert_eq!(reach.bytes(1_000), 4_000_000);
    }

    #[test]
    fn a_rate_fades_and_a_round_trip_time_is_forgotten() {
        let mut reach = Reach::default();
        reach.sample(10_000_000, ms(100), ms(100));
        for step in 0..1_000 {
            reach.sample(5_000_000, ms(200), ms(100 + step));
        }
        assert_eq!(reach.bytes(1_000), 2_000_000);
        for second in 11..40 {
            reach.sample(5_000_000, ms(200), ms(second * 1_000));
        }
        assert_eq!(reach.bytes(1_000), 4_000_000);
    }

    #[test]
    fn nothing_overflows() {
        let mut reach = Reach::default();
        reach.sample(u64::MAX, Duration::MAX, Duration::MAX);
        assert_eq!(reach.bytes(1_000), u64::MAX);
    }
}
