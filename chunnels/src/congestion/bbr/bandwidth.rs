//! The rate of the bottleneck.

/// The number of round trips for which a rate counts.
const ROUNDS: u64 = 10;

/// The largest delivery rate of the last ten round trips.
#[derive(Debug, Default)]
pub(super) struct Bandwidth {
    /// The largest rate of each round, by its number modulo the length.
    rates: [u64; ROUNDS as usize],
    /// The round of the newest rate.
    round: u64,
}

impl Bandwidth {
    /// Handles a sample of the rate, in bytes per second; zero is no sample. The rate of a flow that had too
    /// little to send is a lower bound, so it counts only if it is larger than the maximum.
    pub(super) fn sample(&mut self, round: u64, rate: u64, is_app_limited: bool) {
        if rate == 0 || (is_app_limited && self.max().is_some_and(|max| rate <= max)) {
            return;
        }
        // Rounds without a sample also expire the rates of ten rounds before.
        for passed in self.round + 1..=round.min(self.round + ROUNDS) {
            self.rates[(passed % ROUNDS) as usize] = 0;
        }
        self.round = round;
        let newest = &mut self.rates[(round % ROUNDS) as usize];
        *newest = rate.max(*newest);
    }

    /// Returns the largest rate, in bytes per second, once there is a rate.
    pub(super) fn max(&self) -> Option<u64> {
        self.rates.iter().copied().max().filter(|rate| *rate > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::Bandwidth;

    #[test]
    fn a_rate_counts_for_ten_rounds() {
        let mut bandwidth = Bandwidth::default();
        assert_eq!(bandwidth.max(), None);
        bandwidth.sample(3, 100, false);
        bandwidth.sample(12, 50, false);
        assert_eq!(bandwidth.max(), Some(100));
        bandwidth.sample(13, 60, false);
        assert_eq!(bandwidth.max(), Some(60));
        bandwidth.sample(500, 7, false);
        assert_eq!(bandwidth.max(), Some(7));
    }

    #[test]
    fn a_flow_with_little_to_send_lowers_nothing() {
        let mut bandwidth = Bandwidth::default();
        bandwidth.sample(0, 100, false);
        for round in 1..40 {
            bandwidth.sample(round, 10, true);
        }
        assert_eq!(bandwidth.max(), Some(100));
        bandwidth.sample(40, 110, true);
        assert_eq!(bandwidth.max(), Some(110));
    }
}
