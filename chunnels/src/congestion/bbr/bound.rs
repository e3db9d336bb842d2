//! Marks of routers, and persistent congestion.
//!
//! The delivery rate and the shortest round trip say nothing about a queue that other flows fill. A router
//! that marks packets asks all flows to send less, as if it had dropped the packets (RFC 3168, section 5). A
//! path on which all packets were lost for long requires the minimum window (RFC 9002, section 7.6). So both
//! events bound the bytes in flight, and the bound grows again while there are no such events, as in the
//! later version 2 (draft-cardwell-iccrg-bbr-congestion-control-02, section 4.5.3): by a packet in the first
//! round trip, and by twice as much in each round trip after it.

use crate::congestion::Ack;
use std::time::Duration;

/// The part of the bytes in flight that is left after a mark (RFC 9438, section 4.6).
const KEPT: f64 = 0.7;

/// The bound on the bytes in flight, while there is one.
#[derive(Debug, Default)]
pub(super) struct Bound {
    current: Option<Current>,
    /// The time of the last reduction: packets sent before it cause no further reduction.
    reduced: Option<Duration>,
}

#[derive(Debug, Clone, Copy)]
struct Current {
    bytes: u64,
    /// The bytes by which the bound grew in the last round trip.
    step: u64,
}

impl Bound {
    /// Handles an acknowledgement, before which `in_flight` bytes were in flight. All marks of a round trip
    /// reduce the bound once.
    pub(super) fn on_ack(&mut self, ack: &Ack, in_flight: u64) {
        if ack.ecn_packets > 0 && ack.newest_acked_sent > self.reduced {
            let held = self.apply(in_flight);
            self.reduce((held as f64 * KEPT) as u64, ack.now);
        }
    }

    /// Handles, at `now`, that all packets were lost for long.
    pub(super) fn on_timeout(&mut self, now: Duration) {
        self.reduce(0, now);
    }

    fn reduce(&mut self, bytes: u64, now: Duration) {
        self.current = Some(Current { bytes, step: 0 });
        self.reduced = Some(now);
    }

    /// Handles a round trip that ended without a mark and used the allowed window, of a flow whose window is
    /// `window` without a bound.
    pub(super) fn grow(&mut self, packet: u64, window: u64) {
        self.current = self.current.and_then(|Current { bytes, step }| {
            let step = (2 * step).max(packet);
            Some(Current { bytes: bytes + step, step }).filter(|bound| bound.bytes < window)
        });
    }

    /// Returns the maximum number of bytes in flight for a `window`.
    pub(super) fn apply(&self, window: u64) -> u64 {
        self.current.map_or(window, |bound| bound.bytes.min(window))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(marked: u64, sent: u64, now: u64) -> Ack {
        let ms = Duration::from_millis;
        Ack { ecn_packets: marked, newest_acked_sent: Some(ms(sent)), now: ms(now), ..Ack::default() }
    }

    fn grown(bound: &mut Bound, window: u64) -> [u64; 6] {
        [0; 6].map(|_| {
            bound.grow(1_000, window);
            bound.apply(window)
        })
    }

    #[test]
    fn the_marks_of_a_round_trip_reduce_it_once() {
        let mut bound = Bound::default();
        bound.on_ack(&ack(0, 0, 20), 100_000);
        assert_eq!(bound.apply(150_000), 150_000);
        bound.on_ack(&ack(1, 5, 25), 100_000);
        bound.on_ack(&ack(3, 24, 44), 70_000);
        assert_eq!(bound.apply(150_000), 70_000);
        bound.on_ack(&ack(1, 26, 46), 60_000);
        assert_eq!(bound.apply(150_000), 42_000);
    }

    #[test]
    fn it_grows_faster_and_faster_and_ends_at_the_window() {
        let mut bound = Bound::default();
        bound.on_ack(&ack(1, 5, 25), 100_000);
        assert_eq!(grown(&mut bound, 100_000), [71_000, 73_000, 77_000, 85_000, 100_000, 100_000]);
        // A bound that has ended does not come back by growing.
        assert_eq!(bound.apply(200_000), 200_000);
    }

    #[test]
    fn persistent_congestion_begins_from_nothing() {
        let mut bound = Bound::default();
        bound.on_timeout(Duration::from_millis(25));
        assert_eq!(bound.apply(20_000), 0);
        assert_eq!(grown(&mut bound, 20_000), [1_000, 3_000, 7_000, 15_000, 20_000, 20_000]);
    }
}
