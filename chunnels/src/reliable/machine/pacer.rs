//! Spreads packets over time: a token bucket.

use std::time::Duration;

/// How much time's worth of bytes may go at once, since timers are not finer, and systems take packets in bursts.
const BURST: Duration = Duration::from_millis(2);

/// How many packets may go at once in any case.
const LEAST_BURST: u64 = 2;

#[derive(Debug)]
pub(super) struct Pacer {
    /// Bytes that may go at once; negative after a packet that was larger.
    tokens: i64,
    filled_at: Duration,
}

impl Pacer {
    /// With an initial burst of `tokens` bytes.
    pub(super) fn new(tokens: u64) -> Self {
        Self { tokens: tokens as i64, filled_at: Duration::ZERO }
    }

    /// When the next packet may go, at `rate` bytes per second, where packets have up to `packet` bytes. `None` is now.
    pub(super) fn wait(&mut self, now: Duration, rate: u64, packet: u64) -> Option<Duration> {
        let earned = bytes_in(now.saturating_sub(self.filled_at), rate);
        // Less than a byte is earned later, with what follows.
        if earned > 0 {
            let most = bytes_in(BURST, rate).max((LEAST_BURST * packet) as i64).max(self.tokens);
            self.tokens = self.tokens.saturating_add(earned).min(most);
            self.filled_at = now;
        }
        if self.tokens > 0 {
            return None;
        }
        let missing = 1 + self.tokens.unsigned_abs();
        let nanos = u128::from(missing) * 1_000_000_000 / u128::from(rate.max(1)) + 1;
        Some(self.filled_at + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }

    /// A packet of `bytes` goes.
    pub(super) fn spend(&mut self, bytes: u64) {
        self.tokens = self.tokens.saturating_sub(bytes as i64);
    }
}

fn bytes_in(time: Duration, rate: u64) -> i64 {
    let bytes = u128::from(rate) * time.as_nanos() / 1_000_000_000;
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many packets of 1000 bytes go in a second at `rate`, each as soon as it may.
    fn packets_in_a_second(rate: u64) -> u64 {
        let (mut pacer, mut now, mut count) = (Pacer::new(0), Duration::ZERO, 0);
        while now < Duration::from_secs(1) {
            match pacer.wait(now, rate, 1000) {
                Some(later) => {
                    assert!(later > now, "time stands still");
                    now = later;
                }
                None => {
                    pacer.spend(1000);
                    count += 1;
                }
            }
        }
        count
    }

    #[test]
    fn the_rate_is_kept() {
        for rate in [1000, 12_345, 1_000_000, 100_000_000] {
            let packets = packets_in_a_second(rate);
            // Waits are whole nanoseconds, rounded up.
            assert!(
                packets.abs_diff(rate / 1000) <= 2 + rate / 5_000_000,
                "{packets} packets at {rate} bytes per second"
            );
        }
    }

    #[test]
    fn idle_time_is_worth_a_short_burst_only() {
        let mut pacer = Pacer::new(0);
        let now = Duration::from_secs(100);
        let mut burst = 0;
        while pacer.wait(now, 1_000_000, 1000).is_none() {
            pacer.spend(1000);
            burst += 1;
        }
        assert_eq!(burst, 2);
    }

    #[test]
    fn no_rate_overflows() {
        let mut pacer = Pacer::new(0);
        assert_eq!(pacer.wait(Duration::from_secs(1), u64::MAX, u64::MAX / 4), None);
        assert!(Pacer::new(0).wait(Duration::ZERO, 0, 1).is_some());
    }
}
