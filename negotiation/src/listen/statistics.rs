//! The clients of a server so far: accepted, refused, given up.

use super::Overload;
use bertha_core::log_pause::LogPause;
use bertha_core::statistics::{LayerStatistics, Value};
use bertha_core::{Error, ErrorKind};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

/// The clients of a server since it began to listen, and its state at this moment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct IncomingStatistics {
    /// Clients that have got a connection.
    pub accepted: u64,
    /// Clients that have got none, by the kind of the error. Kinds that never occurred are missing.
    pub refused: Vec<(ErrorKind, u64)>,
    /// Clients that were given up for others, or refused for want of room.
    pub overload: Overload,
    /// Messages from unknown addresses that were dropped, since they were no offers or exceeded a rate.
    pub dropped: u64,
    /// First flights (0-RTT) of which messages were taken.
    pub flights_taken: u64,
    /// First flights of which no message was taken, so that the client sent them again: their tickets were too old or of
    /// another server, the client expected another stack, the server takes no early data, or it remembers as many first
    /// flights as it may.
    pub flights_not_taken: u64,
    /// First flights that were refused, since they had made a connection before: they were played back, or repeated late.
    pub flights_replayed: u64,
    /// Handshakes under way.
    pub handshakes: usize,
    /// Connections at this moment.
    pub connections: usize,
}

impl LayerStatistics for IncomingStatistics {
    fn values(&self) -> Vec<(&'static str, Value)> {
        let Overload { handshakes, connections, refused, exhausted } = self.overload;
        let mut values = vec![
            ("connections", Value::Number(self.connections as u64)),
            ("handshakes", Value::Number(self.handshakes as u64)),
            ("accepted", Value::Total(self.accepted)),
            ("handshakes_given_up", Value::Total(handshakes)),
            ("connections_given_up", Value::Total(connections)),
            ("refused_without_room", Value::Total(refused)),
            ("accepts_without_descriptor", Value::Total(exhausted)),
            ("flights_taken", Value::Total(self.flights_taken)),
            ("flights_not_taken", Value::Total(self.flights_not_taken)),
            ("flights_replayed", Value::Total(self.flights_replayed)),
            ("dropped_messages", Value::Total(self.dropped)),
        ];
        values.extend(self.refused.iter().map(|&(kind, count)| (refused_as(kind), Value::Total(count))));
        values
    }
}

/// Returns the name of the count of clients that were refused with an error of this kind.
fn refused_as(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Closed => "refused_closed",
        ErrorKind::Reset => "refused_reset",
        ErrorKind::TimedOut => "refused_timed_out",
        ErrorKind::Refused => "refused_no_common_stack",
        ErrorKind::Version => "refused_version",
        ErrorKind::Unauthenticated => "refused_unauthenticated",
        ErrorKind::Malformed => "refused_malformed",
        ErrorKind::TooLarge => "refused_too_large",
        ErrorKind::Exhausted => "refused_exhausted",
        ErrorKind::Unreachable => "refused_unreachable",
        ErrorKind::NotSent => "refused_not_sent",
        _ => "refused_otherwise",
    }
}

/// A running count of accepted and refused clients, which tells the log about refused clients at most once a
/// second.
#[derive(Debug, Default)]
pub(super) struct ClientCount {
    accepted: AtomicU64,
    flights_taken: AtomicU64,
    flights_not_taken: AtomicU64,
    flights_replayed: AtomicU64,
    /// Handshakes under way.
    handshakes: AtomicUsize,
    refused: Mutex<RefusedCount>,
}

#[derive(Debug, Default)]
struct RefusedCount {
    by_kind: Vec<(ErrorKind, u64)>,
    /// Refused clients since the last line of the log.
    untold: u64,
    pause: LogPause,
}

impl ClientCount {
    pub(super) fn accepted(&self) {
        self.accepted.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts the first flight of a client that is let in.
    pub(super) fn flight(&self, is_taken: bool) {
        let count = if is_taken { &self.flights_taken } else { &self.flights_not_taken };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a first flight that had made a connection before.
    pub(super) fn replayed_flight(&self) {
        self.flights_replayed.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn set_handshakes(&self, handshakes: usize) {
        self.handshakes.store(handshakes, Ordering::Relaxed);
    }

    /// Counts a client that got no connection because of `error`.
    pub(super) fn refused(&self, error: &Error, now: Option<Instant>) {
        tracing::debug!(target: "bertha::negotiation", %error, "refused a client");
        let mut refused = self.refused.lock();
        match refused.by_kind.iter_mut().find(|(kind, _)| *kind == error.kind()) {
            Some((_, count)) => *count += 1,
            None => refused.by_kind.push((error.kind(), 1)),
        }
        refused.untold += 1;
        if refused.pause.is_over(now) {
            let count = std::mem::take(&mut refused.untold);
            tracing::info!(target: "bertha::negotiation", count, last = %error, "refused clients");
        }
    }

    /// Returns the statistics of a server with these further counts.
    pub(super) fn get(&self, overload: Overload, dropped: u64, connections: usize) -> IncomingStatistics {
        let accepted = self.accepted.load(Ordering::Relaxed);
        let handshakes = self.handshakes.load(Ordering::Relaxed);
        let refused = self.refused.lock().by_kind.clone();
        let [flights_taken, flights_not_taken, flights_replayed] =
            [&self.flights_taken, &self.flights_not_taken, &self.flights_replayed]
                .map(|count| count.load(Ordering::Relaxed));
        IncomingStatistics {
            accepted,
            refused,
            overload,
            dropped,
            flights_taken,
            flights_not_taken,
            flights_replayed,
            handshakes,
            connections,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn refused_clients_are_counted_by_kind_and_told_once_a_second() {
        let count = ClientCount::default();
        let start = Instant::now();
        let refuse = |kind, millis| {
            count.refused(&Error::new(kind, "why"), Some(start + Duration::from_millis(millis)));
            count.refused.lock().untold
        };
        count.accepted();
        assert_eq!(refuse(ErrorKind::Refused, 0), 0);
        assert_eq!(refuse(ErrorKind::TimedOut, 1), 1);
        assert_eq!(refuse(ErrorKind::Refused, 999), 2);
        assert_eq!(refuse(ErrorKind::Refused, 1_000), 0, "a second has passed");
        let statistics = count.get(Overload::default(), 7, 2);
        assert_eq!((statistics.accepted, statistics.dropped), (1, 7));
        assert_eq!(statistics.refused, [(ErrorKind::Refused, 3), (ErrorKind::TimedOut, 1)]);
        let values = statistics.values();
        assert!(values.contains(&("refused_no_common_stack", Value::Total(3))), "{values:?}");
    }
}
