//! The delays by which Copa decides, and the evidence in them that another flow fills the queue.

use std::collections::VecDeque;
use std::time::Duration;

/// The share of the largest delay in the queue below which the queue is nearly empty.
const NEARLY_EMPTY: f64 = 0.1;

/// Number of the flow's own packets whose delay is that of a nearly empty queue. A pair of packets is
/// acknowledged at once, so that the second packet has waited for the first even in an empty queue.
const FEW_PACKETS: f64 = 2.0;

/// The largest share of a round trip that counts as the delay of so few packets. A flow with a window of few
/// packets would otherwise take a filled queue for an empty queue.
const AT_MOST: f64 = 0.2;

/// Number of round trips whose largest delay counts.
const LARGEST_OF: u32 = 4;

/// Number of round trips in which flows of Copa empty the queue at least once, if no other flow fills it.
const EMPTY_WITHIN: u32 = 5;

/// The smallest time that is no round-trip time: reports have it if there was no sample.
const NO_SAMPLE: Duration = Duration::from_micros(u32::MAX as u64);

/// Round-trip times.
#[derive(Debug, Default)]
pub(super) struct Delays {
    /// The smallest round-trip time of the last report, which covers half of a round trip.
    standing: Duration,
    /// The smallest round-trip time so far.
    base: Option<Duration>,
    /// The times of the latest reports, with the largest round-trip times that are known of them.
    latest: VecDeque<(Duration, Duration)>,
    reported: Duration,
    /// The last time at which the queue was nearly empty, or nothing was known about it.
    emptied: Duration,
}

impl Delays {
    /// Adds a report at `now`: its smallest and its last round-trip time, and the window that it was
    /// measured with.
    pub(super) fn add(&mut self, now: Duration, smallest: Duration, last: Duration, packets: f64) {
        if smallest >= NO_SAMPLE {
            return;
        }
        self.standing = smallest;
        self.base = Some(self.base.map_or(smallest, |base| base.min(smallest)));
        let start = now.saturating_sub(LARGEST_OF * smallest);
        while self.latest.front().is_some_and(|(at, _)| *at < start) {
            self.latest.pop_front();
        }
        let largest = if last < NO_SAMPLE { last.max(smallest) } else { smallest };
        self.latest.push_back((now, largest));
        // The queue may have been empty during a silence.
        let is_after_silence = now.saturating_sub(self.reported) > 2 * largest;
        if is_after_silence || self.is_nearly_empty(packets) {
            self.emptied = now;
        }
        self.reported = now;
    }

    /// Returns the standing round-trip time: the smallest of the last half of a round trip.
    pub(super) fn standing(&self) -> Duration {
        self.standing
    }

    /// Returns the delay in the queue.
    pub(super) fn queueing(&self) -> Duration {
        self.above_base(self.standing)
    }

    /// Returns true if the queue was not nearly empty for so long that another flow fills it.
    pub(super) fn is_kept_filled(&self) -> bool {
        self.reported.saturating_sub(self.emptied) > EMPTY_WITHIN * self.standing
    }

    fn is_nearly_empty(&self, packets: f64) -> bool {
        let largest = self.latest.iter().map(|(_, rtt)| self.above_base(*rtt)).max().unwrap_or_default();
        let few = self.standing.mul_f64((FEW_PACKETS / packets).min(AT_MOST));
        self.queueing() <= few.max(largest.mul_f64(NEARLY_EMPTY))
    }

    fn above_base(&self, rtt: Duration) -> Duration {
        rtt.saturating_sub(self.base.unwrap_or(rtt))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Adds reports each 10 ms, with these delays in a queue after 20 ms, in milliseconds.
    fn add(delays: &mut Delays, queueing: impl IntoIterator<Item = u32>) {
        for queueing in queueing {
            let rtt = (20 + queueing) * MS;
            delays.add(delays.reported + 10 * MS, rtt, rtt, 1_000.0);
        }
    }

    #[test]
    fn the_queue_is_kept_filled_if_it_was_not_nearly_empty_for_five_round_trips() {
        let mut delays = Delays::default();
        add(&mut delays, [0]);
        // A round trip takes 50 ms.
        add(&mut delays, [30; 25]);
        assert!(!delays.is_kept_filled());
        add(&mut delays, [30]);
        assert!(delays.is_kept_filled());
        add(&mut delays, [4]);
        assert!(delays.is_kept_filled(), "4 ms are more than a tenth of 30 ms");
        add(&mut delays, [3]);
        assert!(!delays.is_kept_filled());
    }

    #[test]
    fn a_queue_that_empties_now_and_then_is_not_kept_filled() {
        let mut delays = Delays::default();
        for _ in 0..100 {
            add(&mut delays, [0, 5, 10, 5, 1]);
            assert!(!delays.is_kept_filled());
        }
        assert_eq!((delays.standing(), delays.queueing()), (21 * MS, MS));
    }

    #[test]
    fn the_largest_delay_is_that_of_the_last_four_round_trips() {
        let mut delays = Delays::default();
        add(&mut delays, [0, 100]);
        // 4 ms are less than a tenth of the delay that was largest for the first 96 ms.
        add(&mut delays, [4; 20]);
        assert!(!delays.is_kept_filled());
        add(&mut delays, [4; 4]);
        assert!(delays.is_kept_filled());
    }

    #[test]
    fn two_packets_are_a_nearly_empty_queue_unless_they_are_most_of_the_window() {
        for (packets, queueing, is_empty) in [
            (100.0, 1, false),
            (20.0, 2, true),
            (20.0, 3, false),
            (4.0, 5, true),
            (4.0, 6, false),
            (2.0, 6, false),
        ] {
            let mut delays = Delays::default();
            add(&mut delays, [0]);
            let rtt = (20 + queueing) * MS;
            delays.add(delays.reported + 10 * MS, rtt, rtt, packets);
            assert_eq!(delays.emptied == delays.reported, is_empty, "{packets} packets, {queueing} ms");
        }
    }

    #[test]
    fn a_silence_and_a_report_without_a_sample_are_no_evidence() {
        let mut delays = Delays::default();
        add(&mut delays, [0]);
        add(&mut delays, [30; 25]);
        delays.add(delays.reported + 1_000 * MS, 50 * MS, 50 * MS, 100.0);
        assert!(!delays.is_kept_filled());
        let (standing, reported) = (delays.standing(), delays.reported);
        delays.add(delays.reported + 10 * MS, NO_SAMPLE, NO_SAMPLE, 100.0);
        assert_eq!((delays.standing(), delays.reported), (standing, reported));
    }
}
