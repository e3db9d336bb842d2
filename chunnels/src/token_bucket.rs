//! Spreads what is sent over time, without I/O.

use std::time::Duration;

/// A token bucket. Time is that since it was made.
#[derive(Debug)]
pub(crate) struct TokenBucket {
    /// Bytes that may go at once; negative after something that was larger.
    tokens: i64,
    filled_at: Duration,
}

impl TokenBucket {
    /// With an initial burst of `tokens` bytes.
    pub(crate) fn new(tokens: u64) -> Self {
        Self { tokens: i64::try_from(tokens).unwrap_or(i64::MAX), filled_at: Duration::ZERO }
    }

    /// When more may go, at `rate` bytes per second and up to `burst` bytes at once after an idle time. `None` is now.
    pub(crate) fn wait(&mut self, now: Duration, rate: u64, burst: u64) -> Option<Duration> {
        let earned = bytes_in(now.saturating_sub(self.filled_at), rate);
        // Less than a byte is earned later, with what follows.
        if earned > 0 {
            let most = i64::try_from(burst).unwrap_or(i64::MAX).max(self.tokens);
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

    /// So many bytes go.
    pub(crate) fn spend(&mut self, bytes: u64) {
        self.tokens = self.tokens.saturating_sub(i64::try_from(bytes).unwrap_or(i64::MAX));
    }
}

/// What `rate` amounts to in `time`, rounded down.
pub(crate) fn bytes_in(time: Duration, rate: u64) -> i64 {
    let bytes = u128::from(rate) * time.as_nanos() / 1_000_000_000;
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many packets of 1000 bytes go in a second at `rate`, each as soon as it may.
    fn packets_in_a_second(rate: u64) -> u64 {
        let (mut bucket, mut now, mut count) = (TokenBucket::new(0), Duration::ZERO, 0);
        while now < Duration::from_secs(1) {
            match bucket.wait(now, rate, 2000) {
                Some(later) => {
                    assert!(later > now, "time stands still");
                    now = later;
                }
                None => {
                    bucket.spend(1000);
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
        let mut bucket = TokenBucket::new(0);
        let now = Duration::from_secs(100);
        let mut burst = 0;
        while bucket.wait(now, 1_000_000, 2000).is_none() {
            bucket.spend(1000);
            burst += 1;
        }
        assert_eq!(burst, 2);
    }

    #[test]
    fn no_rate_overflows() {
        let mut bucket = TokenBucket::new(0);
        assert_eq!(bucket.wait(Duration::from_secs(1), u64::MAX, u64::MAX), None);
        assert!(TokenBucket::new(0).wait(Duration::ZERO, 0, 1).is_some());
    }
}
