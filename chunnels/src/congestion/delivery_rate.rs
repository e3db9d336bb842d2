//! The rates at which acknowledged bytes were sent and delivered.
//!
//! The method is that of draft-cheng-iccrg-delivery-rate-estimation: each packet records the bytes delivered
//! before it was sent. When it is acknowledged, the bytes delivered since, over the time since, are a sample.

use std::time::Duration;

/// The state of a connection.
#[derive(Debug, Default)]
pub(crate) struct DeliveryRate {
    delivered: u64,
    delivered_at: Duration,
    /// The time of the first packet of the current sending interval.
    first_sent_at: Duration,
    /// Samples are app-limited until this many bytes are delivered.
    limited_until: u64,
    newest: Option<Sample>,
}

/// The state of the connection when a packet was sent.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Snapshot {
    delivered: u64,
    delivered_at: Duration,
    first_sent_at: Duration,
    is_app_limited: bool,
}

#[derive(Debug, Clone, Copy)]
struct Sample {
    from: Snapshot,
    sent_at: Duration,
}

/// The sample of one acknowledgement. Rates are in bytes per second, zero without a sample.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Rates {
    pub(crate) outgoing: u64,
    pub(crate) incoming: u64,
    pub(crate) is_app_limited: bool,
}

impl DeliveryRate {
    /// Handles a packet that is sent while `in_flight` bytes are in flight.
    pub(crate) fn on_sent(&mut self, now: Duration, in_flight: u64) -> Snapshot {
        if in_flight == 0 {
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        Snapshot {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            is_app_limited: self.limited_until > 0,
        }
    }

    /// Records that the sender has too little to send, while `in_flight` bytes are in flight.
    pub(crate) fn on_app_limited(&mut self, in_flight: u64) {
        self.limited_until = (self.delivered + in_flight).max(1);
    }

    /// Handles the acknowledgement of a packet of `bytes`.
    pub(crate) fn on_ack(&mut self, bytes: u64, sent_at: Duration, from: Snapshot, now: Duration) {
        self.delivered += bytes;
        self.delivered_at = now;
        if self.newest.is_none_or(|newest| from.delivered >= newest.from.delivered) {
            self.newest = Some(Sample { from, sent_at });
            self.first_sent_at = sent_at;
        }
    }

    /// Returns the sample of the packets acknowledged since the last call. There is no sample over a time
    /// below `min_rtt`, in which no path delivers a packet.
    pub(crate) fn take(&mut self, min_rtt: Duration) -> Rates {
        if self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        let Some(Sample { from, sent_at }) = self.newest.take() else { return Rates::default() };
        let sending = sent_at.saturating_sub(from.first_sent_at);
        let receiving = self.delivered_at.saturating_sub(from.delivered_at);
        let is_app_limited = from.is_app_limited;
        if sending.max(receiving) < min_rtt {
            return Rates { is_app_limited, ..Rates::default() };
        }
        let over = |interval: Duration| match interval.as_nanos() {
            0 => 0,
            nanos => (u128::from(self.delivered - from.delivered) * 1_000_000_000 / nanos) as u64,
        };
        Rates { outgoing: over(sending), incoming: over(receiving), is_app_limited }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// A flow with a packet of 1000 bytes every 2 ms, each acknowledged after 20 ms.
    #[test]
    fn a_steady_flow_shows_its_rate() {
        let mut rate = DeliveryRate::default();
        let mut sent = Vec::new();
        let mut last = Rates::default();
        for tick in 0..100_u64 {
            sent.push((ms(2 * tick), rate.on_sent(ms(2 * tick), u64::from(tick > 0))));
            if tick >= 10 {
                let (at, snapshot) = sent[tick as usize - 10];
                rate.on_ack(1000, at, snapshot, ms(2 * tick));
                last = rate.take(ms(20));
            }
        }
        assert_eq!(last, Rates { outgoing: 500_000, incoming: 500_000, is_app_limited: false });
    }

    #[test]
    fn a_sender_that_had_nothing_to_send_says_so() {
        let mut rate = DeliveryRate::default();
        rate.on_app_limited(0);
        let snapshot = rate.on_sent(ms(0), 0);
        rate.on_ack(1000, ms(0), snapshot, ms(20));
        assert!(rate.take(ms(20)).is_app_limited);
        let snapshot = rate.on_sent(ms(20), 0);
        rate.on_ack(1000, ms(20), snapshot, ms(40));
        assert!(!rate.take(ms(20)).is_app_limited);
    }

    #[test]
    fn what_is_acknowledged_faster_than_light_is_no_sample() {
        let mut rate = DeliveryRate::default();
        let snapshot = rate.on_sent(ms(0), 0);
        rate.on_ack(1000, ms(0), snapshot, ms(1));
        assert_eq!(rate.take(ms(20)), Rates::default());
    }
}
