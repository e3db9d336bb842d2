//! The rate of a link over time.

use super::cellular;
use bertha_core::{Error, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

/// Largest number of slots in a trace.
const MAX_SLOTS: usize = 1 << 20;

/// The rate of a link: constant, or a trace that repeats. Clones are cheap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rate {
    /// Length of a slot in nanoseconds.
    slot: u128,
    /// Rate of each slot, in bytes per second; at least one rate is not zero.
    rates: Arc<[u64]>,
    /// Number of bytes in a whole period, times 10^9.
    period: u128,
}

impl Rate {
    /// Creates a constant rate, in bytes per second; zero counts as one.
    pub fn fixed(bytes_per_second: u64) -> Self {
        Self::new(Duration::from_secs(1), vec![bytes_per_second.max(1)])
    }

    /// Creates a trace: each of the `rates`, in bytes per second, holds for a slot; then they repeat. A rate
    /// of zero is an outage.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a slot of length zero, for more than 1,048,576 slots, and if no rate is
    /// above zero.
    pub fn trace(slot: Duration, rates: impl Into<Vec<u64>>) -> Result<Self, Error> {
        let rates = rates.into();
        if slot.is_zero() || rates.len() > MAX_SLOTS || rates.iter().all(|rate| *rate == 0) {
            let what = format!(
                "a trace of {} slots of {slot:?}: it needs at most {MAX_SLOTS}, of some length, one with a rate",
                rates.len()
            );
            return Err(Error::new(ErrorKind::Invalid, what));
        }
        Ok(Self::new(slot, rates))
    }

    /// Creates a synthetic trace of a minute like those of cellular links: within seconds, the rate wanders
    /// between an eighth of `mean` bytes per second and four times as much, and there are outages of up to a
    /// third of a second. The seed decides.
    pub fn cellular(mean: u64, seed: u64) -> Self {
        Self::new(cellular::SLOT, cellular::rates(mean.max(1), seed))
    }

    fn new(slot: Duration, rates: Vec<u64>) -> Self {
        let slot = slot.as_nanos();
        let period = rates.iter().map(|rate| u128::from(*rate) * slot).sum();
        Self { slot, rates: rates.into(), period }
    }

    /// Returns the mean rate, in bytes per second.
    pub fn mean(&self) -> f64 {
        self.period as f64 / (self.slot * self.rates.len() as u128) as f64
    }

    /// Returns the number of bytes that can be sent from the beginning of time until `until`.
    pub fn bytes_until(&self, until: Duration) -> u64 {
        let nanos = until.as_nanos();
        let length = self.slot * self.rates.len() as u128;
        let periods = nanos / length;
        let rest = nanos % length;
        let whole = (rest / self.slot) as usize;
        let part = rest % self.slot;
        let slots: u128 = self.rates[..whole].iter().map(|rate| u128::from(*rate) * self.slot).sum();
        let sent = periods * self.period + slots + u128::from(self.rates[whole]) * part;
        u64::try_from(sent / 1_000_000_000).unwrap_or(u64::MAX)
    }

    /// Returns the time at which `bytes` are sent if sending begins at `start`, rounded up.
    pub(super) fn finish(&self, start: Duration, bytes: u64) -> Duration {
        let mut left = u128::from(bytes) * 1_000_000_000;
        let mut at = start.as_nanos();
        // Every whole period sends an equal number of bytes, wherever it begins.
        at += left / self.period * self.slot * self.rates.len() as u128;
        left %= self.period;
        while left > 0 {
            let rate = u128::from(self.rates[(at / self.slot) as usize % self.rates.len()]);
            let rest = self.slot - at % self.slot;
            if rate * rest >= left {
                at += left.div_ceil(rate);
                break;
            }
            left -= rate * rest;
            at += rest;
        }
        Duration::from_nanos(u64::try_from(at).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_trace_sends_by_its_slots_and_repeats() {
        let rate = Rate::trace(ms(10), [1_000_000, 0, 500_000]).unwrap();
        assert_eq!(rate.mean().round(), 500_000.0);
        // The slots send 10,000 bytes, nothing (an outage), and 5,000 bytes: 15,000 bytes in 30 ms.
        assert_eq!(rate.finish(ms(0), 10_000), ms(10));
        assert_eq!(rate.finish(ms(10), 500), ms(21));
        assert_eq!(rate.finish(ms(5), 10_000), ms(30));
        assert_eq!(rate.finish(ms(5), 40_000), ms(90));
        assert_eq!(
            [15, 20, 25, 30, 40].map(|at| rate.bytes_until(ms(at))),
            [10_000, 10_000, 12_500, 15_000, 25_000]
        );
    }

    #[test]
    fn a_trace_that_never_sends_is_refused() {
        for (slot, rates) in
            [(ms(1), vec![0, 0]), (ms(1), Vec::new()), (ms(0), vec![1]), (ms(1), vec![1; MAX_SLOTS + 1])]
        {
            assert_eq!(Rate::trace(slot, rates).unwrap_err().kind(), ErrorKind::Invalid);
        }
    }

    #[test]
    fn a_cellular_rate_has_its_mean_and_wanders() {
        for seed in 0..8 {
            let rate = Rate::cellular(1_000_000, seed);
            let share = rate.mean() / 1e6;
            assert!((0.99..1.01).contains(&share), "seed {seed}: {share}");
            let (low, high) =
                rate.rates.iter().fold((u64::MAX, 0), |(low, high), it| (low.min(*it), high.max(*it)));
            assert!(low == 0 && high > 2_000_000, "seed {seed}: {low} to {high}");
            assert_eq!(rate, Rate::cellular(1_000_000, seed));
            assert_ne!(rate, Rate::cellular(1_000_000, seed + 1));
        }
    }
}
