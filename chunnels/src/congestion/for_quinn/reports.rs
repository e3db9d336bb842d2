//! The events of a QUIC connection, gathered into the signals of acknowledgements.

use crate::congestion::delivery_rate::{DeliveryRate, Rates, Snapshot};
use crate::congestion::{Ack, Flow};
use std::collections::VecDeque;
use std::time::Duration;

/// Maximum number of bursts that are remembered.
const MAX_BURSTS: usize = 4_096;

/// The signals of an acknowledgement, and the state of the connection after it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Report {
    pub(super) ack: Ack,
    pub(super) flow: Flow,
}

/// The state of one connection. Times are durations since its first packet.
///
/// QUIC identifies no packets here, only the times at which they were sent, and sends all packets of a burst
/// at one time.
#[derive(Debug, Default)]
pub(super) struct Reports {
    /// The size of a packet in bytes.
    packet: u64,
    /// The acknowledgement that is being gathered, and the sum of the times at which its packets were sent.
    ack: Ack,
    sent_at: Duration,
    in_flight: u64,
    rate: DeliveryRate,
    /// The bursts, in the order in which they were sent.
    bursts: VecDeque<Burst>,
    rtt: Duration,
    min_rtt: Option<Duration>,
}

#[derive(Debug)]
struct Burst {
    at: Duration,
    snapshot: Snapshot,
}

impl Reports {
    /// Makes the state for packets of `packet` bytes.
    pub(super) fn new(packet: u64) -> Self {
        Self { packet, ..Self::default() }
    }

    /// Handles a burst of `bytes` that is sent.
    pub(super) fn on_sent(&mut self, now: Duration, bytes: u64) {
        let snapshot = self.rate.on_sent(now, self.in_flight);
        self.in_flight += bytes;
        // The oldest bursts are acknowledged or lost, unless there are more bursts in flight than any path
        // holds.
        if self.bursts.len() == MAX_BURSTS {
            self.bursts.pop_front();
        }
        self.bursts.push_back(Burst { at: now, snapshot });
    }

    /// Handles the acknowledgement of one packet of `bytes` that was sent at `sent`.
    pub(super) fn on_packet(&mut self, now: Duration, sent: Duration, bytes: u64) {
        self.ack.packets_acked += 1;
        self.ack.bytes_acked += bytes;
        self.ack.newest_acked_sent = self.ack.newest_acked_sent.max(Some(sent));
        self.sent_at += sent;
        let found = self.bursts.binary_search_by_key(&sent, |burst| burst.at);
        if let Some(burst) = found.ok().and_then(|at| self.bursts.get(at)) {
            self.rate.on_ack(bytes, sent, burst.snapshot, now);
        }
    }

    /// Returns the report of the packets since the last report, after which `in_flight` bytes are in flight.
    pub(super) fn on_packets_end(&mut self, now: Duration, in_flight: u64, is_app_limited: bool) -> Report {
        self.in_flight = in_flight;
        if is_app_limited {
            self.rate.on_app_limited(in_flight);
        }
        let mut ack = std::mem::take(&mut self.ack);
        let sent_at = std::mem::take(&mut self.sent_at);
        ack.now = now;
        if let Some(newest) = ack.newest_acked_sent {
            self.rtt = now.saturating_sub(newest);
            self.min_rtt = Some(self.min_rtt.map_or(self.rtt, |min| min.min(self.rtt)));
            let packets = u32::try_from(ack.packets_acked.max(1)).unwrap_or(u32::MAX);
            ack.spread = newest.saturating_sub(sent_at / packets);
            self.forget(newest);
        }
        let rates = self.rate.take(self.min_rtt.unwrap_or_default());
        let mut flow = self.flow(rates);
        flow.is_app_limited |= is_app_limited;
        flow.is_window_unused = flow.is_app_limited;
        Report { ack, flow }
    }

    /// Returns the report of a loss of `bytes`, of which the newest were sent at `sent`.
    pub(super) fn on_lost(
        &mut self,
        now: Duration,
        sent: Duration,
        bytes: u64,
        is_persistent: bool,
    ) -> Report {
        self.in_flight = self.in_flight.saturating_sub(bytes);
        let lost_pkts_sample = bytes.div_ceil(self.packet.max(1)).max(1);
        let ack = Ack { now, lost_pkts_sample, newest_lost_sent: Some(sent), ..Ack::default() };
        let mut flow = self.flow(Rates::default());
        flow.was_timeout = is_persistent;
        Report { ack, flow }
    }

    /// Returns the report that a router marked packets, the newest of which was sent at `sent`. Their number
    /// is not known.
    pub(super) fn on_marked(&self, now: Duration, sent: Duration) -> Report {
        let ack = Ack {
            now,
            ecn_packets: 1,
            ecn_bytes: self.packet,
            newest_acked_sent: Some(sent),
            ..Ack::default()
        };
        Report { ack, flow: self.flow(Rates::default()) }
    }

    fn flow(&self, rates: Rates) -> Flow {
        Flow {
            was_timeout: false,
            rtt_sample_us: self.rtt.as_micros() as u64,
            rate_outgoing: rates.outgoing,
            rate_incoming: rates.incoming,
            bytes_in_flight: self.in_flight,
            packets_in_flight: self.in_flight.div_ceil(self.packet.max(1)),
            is_app_limited: rates.is_app_limited,
            is_window_unused: rates.is_app_limited,
            bytes_pending: 0,
        }
    }

    /// Forgets the bursts that were sent two round trips before `newest`: older packets are declared lost by
    /// then.
    fn forget(&mut self, newest: Duration) {
        let horizon = newest.saturating_sub(self.rtt * 2);
        while self.bursts.pop_front_if(|oldest| oldest.at < horizon).is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn what_one_frame_acknowledges_is_one_report() {
        let mut reports = Reports::new(1_000);
        reports.on_sent(ms(0), 3_000);
        reports.on_sent(ms(4), 1_000);
        for sent in [0, 0, 4] {
            reports.on_packet(ms(24), ms(sent), 1_000);
        }
        let Report { ack, flow } = reports.on_packets_end(ms(24), 1_000, false);
        let expected = Ack {
            bytes_acked: 3_000,
            packets_acked: 3,
            now: ms(24),
            newest_acked_sent: Some(ms(4)),
            spread: Duration::from_nanos(2_666_667),
            ..Ack::default()
        };
        assert_eq!(ack, expected);
        assert_eq!((flow.rtt_sample_us, flow.bytes_in_flight, flow.packets_in_flight), (20_000, 1_000, 1));
        // The next report begins anew.
        reports.on_packet(ms(25), ms(0), 1_000);
        assert_eq!(reports.on_packets_end(ms(25), 0, false).ack.packets_acked, 1);
    }

    #[test]
    fn losses_and_marks_are_reports_without_acknowledgements() {
        let mut reports = Reports::new(1_000);
        reports.on_sent(ms(0), 5_000);
        let Report { ack, flow } = reports.on_lost(ms(30), ms(3), 2_100, true);
        let expected =
            Ack { now: ms(30), lost_pkts_sample: 3, newest_lost_sent: Some(ms(3)), ..Ack::default() };
        assert_eq!((ack, flow.was_timeout, flow.bytes_in_flight), (expected, true, 2_900));
        let Report { ack, flow } = reports.on_marked(ms(31), ms(4));
        assert_eq!((ack.ecn_packets, ack.newest_acked_sent, ack.bytes_delivered()), (1, Some(ms(4)), 0));
        assert!(!flow.was_timeout);
    }

    /// A flow with a burst of two packets every 4 ms, acknowledged after 20 ms.
    #[test]
    fn a_steady_flow_shows_its_rate_and_few_bursts_are_remembered() {
        let mut reports = Reports::new(1_000);
        let mut flow = Flow::default();
        for tick in 0..1_000 {
            if tick >= 5 {
                let (now, sent) = (ms(4 * tick), ms(4 * (tick - 5)));
                reports.on_packet(now, sent, 1_000);
                reports.on_packet(now, sent, 1_000);
                flow = reports.on_packets_end(now, 8_000, false).flow;
            }
            reports.on_sent(ms(4 * tick), 2_000);
        }
        assert_eq!((flow.rate_incoming, flow.rate_outgoing, flow.is_app_limited), (500_000, 500_000, false));
        assert!(reports.bursts.len() <= 20, "{} bursts", reports.bursts.len());
    }

    #[test]
    fn a_flow_that_lacks_data_says_so() {
        let mut reports = Reports::new(1_000);
        reports.on_sent(ms(0), 1_000);
        reports.on_packet(ms(20), ms(0), 1_000);
        assert!(reports.on_packets_end(ms(20), 0, true).flow.is_app_limited);
    }

    #[test]
    fn packets_in_flight_without_number_are_forgotten() {
        let mut reports = Reports::new(1_000);
        (0..10_000).for_each(|at| reports.on_sent(ms(at), 1_000));
        assert_eq!(reports.bursts.len(), MAX_BURSTS);
        reports.on_packet(ms(10_000), ms(0), 1_000);
        assert_eq!(reports.on_packets_end(ms(10_000), 0, false).flow.rate_incoming, 0);
    }
}
