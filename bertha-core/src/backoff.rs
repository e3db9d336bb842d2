//! Pauses between attempts.

use std::time::Duration;

/// Pauses that grow with each failed attempt and are drawn at random, so that clients that lost a server
/// together do not reconnect together.
///
/// Each pause is drawn between zero and a bound, which doubles from [`first`](Self::new) up to
/// [`longest`](Self::new). With [`at_least_half`](Self::at_least_half) it is drawn between half the bound and the
/// bound.
///
/// ```
/// use bertha_core::backoff::Backoff;
/// use std::time::Duration;
/// let mut backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(5));
/// assert!(backoff.pause(u64::MAX) <= Duration::from_millis(50));
/// assert!(backoff.pause(u64::MAX) <= Duration::from_millis(100));
/// backoff.reset();
/// assert!(backoff.pause(u64::MAX) <= Duration::from_millis(50));
/// ```
#[derive(Debug, Clone)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    bound: Duration,
    is_at_least_half: bool,
}

impl Backoff {
    /// Makes a backoff whose first pause is at most `first`, and whose later pauses are at most `longest`.
    pub fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, bound: first.min(longest), is_at_least_half: false }
    }

    /// Draws each pause from the upper half of its bound: for calls to a service that asks its clients to slow
    /// down, where a pause of almost zero is of no use.
    #[must_use]
    pub fn at_least_half(mut self) -> Self {
        self.is_at_least_half = true;
        self
    }

    /// Returns the pause after an attempt that has failed; `random` are random bits.
    pub fn pause(&mut self, random: u64) -> Duration {
        let bound = self.bound;
        self.bound = bound.saturating_mul(2).min(self.longest);
        let least = if self.is_at_least_half { bound / 2 } else { Duration::ZERO };
        // 32 bits of randomness are enough, and exact.
        least + (bound - least).mul_f64((random >> 32) as f64 / f64::from(u32::MAX))
    }

    /// Records that an attempt has succeeded, so that the next pause is short again.
    pub fn reset(&mut self) {
        self.bound = self.first.min(self.longest);
    }
}

impl Default for Backoff {
    /// Makes a backoff with the bounds 50 ms and 5 s.
    fn default() -> Self {
        Self::new(Duration::from_millis(50), Duration::from_secs(5))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn bounds_double_up_to_the_longest_and_start_again() {
        let mut backoff = Backoff::new(10 * MS, 55 * MS);
        let longest = [(); 5].map(|()| backoff.pause(u64::MAX));
        assert_eq!(longest, [10, 20, 40, 55, 55].map(|bound| bound * MS));
        backoff.reset();
        assert_eq!((backoff.pause(0), backoff.pause(u64::MAX)), (Duration::ZERO, 20 * MS));
        assert_eq!(Backoff::new(10 * MS, MS).pause(u64::MAX), MS);
    }

    #[test]
    fn a_pause_of_at_least_half_is_spread_over_the_upper_half() {
        let mut backoff = Backoff::new(100 * MS, 400 * MS).at_least_half();
        assert_eq!([(); 3].map(|()| backoff.pause(0)), [50 * MS, 100 * MS, 200 * MS]);
        assert_eq!(backoff.pause(u64::MAX), 400 * MS);
        assert_eq!(backoff.pause(1 << 63).as_millis(), 300);
    }

    #[test]
    fn pauses_are_spread_over_the_bound() {
        let mut backoff = Backoff::new(100 * MS, 100 * MS);
        assert_eq!(backoff.pause(1 << 63).as_millis(), 50);
        assert_eq!(backoff.pause(1 << 62).as_millis(), 25);
    }
}
