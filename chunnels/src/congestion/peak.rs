//! The most bytes that were in flight in the last round trip.

use std::time::Duration;

/// The peak of a connection, over one to two round trips.
#[derive(Debug, Default)]
pub(crate) struct Peak {
    bytes: u64,
    /// The start of the round trip: it ends when a packet sent after it is acknowledged.
    since: Duration,
}

impl Peak {
    /// Handles a packet after which `in_flight` bytes are in flight.
    pub(crate) fn on_sent(&mut self, in_flight: u64) {
        self.bytes = self.bytes.max(in_flight);
    }

    /// Handles an acknowledgement whose newest packet was sent at `sent`, and after which `in_flight` bytes are in flight. Returns
    /// the most bytes that were in flight while this packet was.
    pub(crate) fn on_ack(&mut self, sent: Option<Duration>, in_flight: u64, now: Duration) -> u64 {
        let peak = self.bytes;
        if sent.is_some_and(|sent| sent >= self.since) {
            *self = Self { bytes: in_flight, since: now };
        }
        peak
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Option<Duration> {
        Some(Duration::from_millis(ms))
    }

    #[test]
    fn all_packets_of_a_flight_share_its_peak_and_later_ones_have_their_own() {
        let mut peak = Peak::default();
        let at = |ms| Duration::from_millis(ms);
        (1..=10).for_each(|packets| peak.on_sent(packets * 1_000));
        assert_eq!(peak.on_ack(ms(0), 9_000, at(100)), 10_000);
        assert_eq!(peak.on_ack(ms(0), 8_000, at(101)), 9_000);
        // A loss and a time-out acknowledge nothing.
        assert_eq!(peak.on_ack(None, 0, at(150)), 9_000);
        peak.on_sent(1_000);
        assert_eq!(peak.on_ack(ms(150), 0, at(250)), 9_000);
        peak.on_sent(1_000);
        assert_eq!(peak.on_ack(ms(250), 0, at(350)), 1_000);
    }
}
