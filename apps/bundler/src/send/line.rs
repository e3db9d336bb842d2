//! The line of statistics of a sendbox.

use super::counts::Counts;
use bertha_bundle::SendboxStatistics;
use std::time::Duration;

/// The state of the box at the time of a line.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct State {
    pub(super) statistics: SendboxStatistics,
    pub(super) counts: Counts,
    /// The rate of the sendbox, in bytes per second, if it is limited.
    pub(super) rate: Option<u64>,
    /// The last round trip.
    pub(super) round_trip: Option<Duration>,
    pub(super) queueing: Duration,
}

/// Returns the line for a state, after `elapsed` since the state `before`.
pub(super) fn line(state: &State, before: &State, elapsed: Duration) -> String {
    let State { statistics, counts, rate, round_trip, queueing } = state;
    let megabits = |bytes: f64| bytes * 8e-6;
    let sent = statistics.bytes.saturating_sub(before.statistics.bytes) as f64 / elapsed.as_secs_f64();
    let measured = statistics.measurements.saturating_sub(before.statistics.measurements);
    let limit = rate.map_or_else(|| "none".to_owned(), |rate| format!("{:.2} Mbit/s", megabits(rate as f64)));
    let in_ms = |time: Duration| time.as_secs_f64() * 1e3;
    let round_trip = round_trip.map_or_else(|| "unknown".to_owned(), |time| format!("{:.1} ms", in_ms(time)));
    format!(
        "sent: {:.2} Mbit/s, limit: {limit}, round trip: {round_trip}, queue: {:.1} ms, {} bytes; measurements: {measured}; \
         packets dropped: {}, lost: {} bytes, refused: {}, unreadable: {}, unnamed: {}; \
         messages unmatched: {}, implausible: {}, malformed: {}, unsent: {}",
        megabits(sent),
        in_ms(*queueing),
        statistics.waiting,
        statistics.dropped,
        statistics.lost,
        counts.refused,
        counts.unreadable,
        statistics.unnamed,
        statistics.unmatched,
        statistics.implausible,
        statistics.malformed,
        counts.unsent,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_rate_since_the_line_before_and_all_counts() {
        let before = State::default();
        let counts = Counts { unreadable: 1, refused: 2, unsent: 3 };
        let mut state = State { counts, rate: Some(1_250_000), ..before };
        state.statistics.bytes = 500_000;
        state.statistics.measurements = 4;
        let shown = line(&state, &before, Duration::from_secs(2));
        for part in [
            "sent: 2.00 Mbit/s, limit: 10.00 Mbit/s, round trip: unknown, queue: 0.0 ms",
            "measurements: 4;",
            "refused: 2, unreadable: 1",
            "unsent: 3",
        ] {
            assert!(shown.contains(part), "{shown}");
        }
        let later = line(&State { rate: None, ..state }, &state, Duration::from_secs(2));
        assert!(later.contains("sent: 0.00 Mbit/s, limit: none"), "{later}");
    }
}
