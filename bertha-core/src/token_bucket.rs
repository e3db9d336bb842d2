//! The token bucket, which bounds a rate and a burst, without I/O.

use std::time::Duration;

/// A token bucket.
///
/// Time is a duration since a start that the caller chooses, so any clock works. The rate is an argument of
/// each call, since it may change. The caller chooses the unit of a token, most often a byte.
///
/// ```
/// use bertha_core::token_bucket::{Rate, TokenBucket};
/// use std::time::Duration;
///
/// let rate = Rate { per_second: 1_000_000, burst: 2_000 };
/// let mut bucket = TokenBucket::new(rate.burst);
/// assert_eq!(bucket.ready_at(Duration::ZERO, rate), None);
/// bucket.spend(12_000);
/// assert!(bucket.ready_at(Duration::from_millis(10), rate).is_some());
/// assert!(bucket.ready_at(Duration::from_millis(11), rate).is_none());
/// ```
///
/// In any time `t`, at most `per_second * t + burst` tokens and one last item are spent. The tokens earned in
/// a time are rounded down to whole tokens: count small numbers, such as requests, in thousandths.
#[derive(Debug, Clone, Copy)]
pub struct TokenBucket {
    /// The tokens left; negative after an item that took more tokens than there were.
    tokens: i64,
    filled_at: Duration,
}

/// The rate and the burst of a [`TokenBucket`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Tokens per second.
    pub per_second: u64,
    /// Tokens that may be spent at once after an idle time.
    pub burst: u64,
}

impl Rate {
    /// Returns the tokens that `time` earns, rounded down.
    pub fn earned_in(&self, time: Duration) -> u64 {
        let tokens = u128::from(self.per_second).saturating_mul(time.as_nanos()) / 1_000_000_000;
        u64::try_from(tokens).unwrap_or(u64::MAX)
    }
}

impl TokenBucket {
    /// Makes a bucket with `tokens` in it at time zero.
    pub fn new(tokens: u64) -> Self {
        Self { tokens: signed(tokens), filled_at: Duration::ZERO }
    }

    /// Returns the time from which an item may be sent; `None` is now. An item may be sent as soon as the
    /// bucket has one token, however many tokens the item takes.
    pub fn ready_at(&mut self, now: Duration, rate: Rate) -> Option<Duration> {
        let earned = signed(rate.earned_in(now.saturating_sub(self.filled_at)));
        // Time that earned less than a token counts with the time that follows.
        if earned > 0 {
            let max = signed(rate.burst).max(self.tokens);
            self.tokens = self.tokens.saturating_add(earned).min(max);
            self.filled_at = now;
        }
        if self.tokens > 0 {
            return None;
        }
        let missing = 1 + self.tokens.unsigned_abs();
        let nanos = u128::from(missing) * 1_000_000_000 / u128::from(rate.per_second.max(1)) + 1;
        Some(self.filled_at + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }

    /// Takes `tokens` out of the bucket, for an item that is sent.
    pub fn spend(&mut self, tokens: u64) {
        self.tokens = self.tokens.saturating_sub(signed(tokens));
    }
}

fn signed(tokens: u64) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the number of packets of 1000 bytes that pass in a second at `per_second` bytes, each sent as
    /// early as allowed.
    fn packets_in_a_second(per_second: u64) -> u64 {
        let rate = Rate { per_second, burst: 2000 };
        let (mut bucket, mut now, mut count) = (TokenBucket::new(0), Duration::ZERO, 0);
        while now < Duration::from_secs(1) {
            match bucket.ready_at(now, rate) {
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
        let rate = Rate { per_second: 1_000_000, burst: 2000 };
        let (mut bucket, now) = (TokenBucket::new(0), Duration::from_secs(100));
        let mut burst = 0;
        while bucket.ready_at(now, rate).is_none() {
            bucket.spend(1000);
            burst += 1;
        }
        assert_eq!(burst, 2);
    }

    #[test]
    fn no_rate_overflows() {
        let (most, none) = (Rate { per_second: u64::MAX, burst: u64::MAX }, Rate { per_second: 0, burst: 1 });
        assert_eq!(TokenBucket::new(0).ready_at(Duration::from_secs(1), most), None);
        assert!(TokenBucket::new(0).ready_at(Duration::ZERO, none).is_some());
        assert_eq!(TokenBucket::new(u64::MAX).ready_at(Duration::MAX, most), None);
    }

    proptest! {
        /// Checks any sequence of items: at most rate, burst and one item pass, and an item passes at the
        /// time that `ready_at` returns.
        #[test]
        fn no_more_goes_than_rate_burst_and_one_item(
            per_second in 1..10_000_000_u64,
            burst in 1..100_000_u64,
            items in prop::collection::vec((1..5_000_u64, 0..20_000_u64), 1..200),
        ) {
            let rate = Rate { per_second, burst };
            let (mut bucket, mut now, mut spent) = (TokenBucket::new(burst), Duration::ZERO, 0);
            for (tokens, pause_us) in items {
                now += Duration::from_micros(pause_us);
                if let Some(later) = bucket.ready_at(now, rate) {
                    now = now.max(later);
                    prop_assert_eq!(bucket.ready_at(now, rate), None);
                }
                // The items before this item leave at least one token.
                prop_assert!(spent < burst + rate.earned_in(now));
                bucket.spend(tokens);
                spent += tokens;
            }
        }
    }
}
