//! DCTCP.

use super::handle::{Handle, register};
use super::setting::{Configure, Setting};
use portus::ipc::Ipc;
use portus::{CongAlg, Datapath, DatapathInfo, Flow, Report};
use std::collections::HashMap;

/// DCTCP as in RFC 8257: the window shrinks by as much as half, in proportion to the share of packets that routers marked for
/// congestion, so that a router may mark early and its queue stays short. Losses halve it.
///
/// It needs a transport that reports marks, such as [`Reliable`](bertha_chunnels::Reliable) with
/// [`ecn`](bertha_chunnels::Reliable::ecn), and routers that mark above a threshold; it takes more than its
/// share from controls that halve their window for one mark.
#[derive(Debug, Clone, Copy)]
pub struct Dctcp {
    /// The weight of the latest round trip in the average share of marks.
    g: f64,
}

impl Default for Dctcp {
    /// Makes DCTCP with the weight of RFC 8257.
    fn default() -> Self {
        Self { g: 1.0 / 16.0 }
    }
}

impl Configure for Dctcp {
    const SETTINGS: &'static [Setting<Self>] = &[Setting {
        name: "g",
        meaning: "the weight of the latest round trip in the average share of marks",
        range: 0.001..=1.0,
        field: |dctcp| &mut dctcp.g,
    }];
}

/// The program, which counts packets and marks of a round trip, and reports them; it reports losses at once.
const PROGRAM: &str = "
    (def (Report (volatile acked 0) (volatile marked 0) (volatile lost 0) (volatile timeout 0) (now 0) (rtt 0)))
    (when true
        (:= Report.acked (+ Report.acked (+ Ack.packets_acked Ack.packets_misordered)))
        (:= Report.marked (+ Report.marked Ack.ecn_packets))
        (:= Report.lost (+ Report.lost Ack.lost_pkts_sample))
        (:= Report.timeout (if Flow.was_timeout 1))
        (:= Report.now Ack.now)
        (:= Report.rtt Flow.rtt_sample_us)
        (fallthrough))
    (when (|| (> Ack.lost_pkts_sample 0) (> Micros Flow.rtt_sample_us)) (report) (:= Micros 0))";

const NAME: &str = "marks of a round trip";

/// The smallest window, in packets.
const MIN: f64 = 2.0;

impl<I: Ipc> CongAlg<I> for Dctcp {
    type Flow = DctcpFlow<I>;

    fn name() -> &'static str {
        "dctcp"
    }

    fn datapath_programs(&self) -> HashMap<&'static str, String> {
        HashMap::from([(NAME, PROGRAM.to_owned())])
    }

    fn new_flow(&self, datapath: Datapath<I>, info: DatapathInfo) -> DctcpFlow<I> {
        let mut handle = Handle::new(datapath);
        handle.begin(NAME, &[("Cwnd", info.init_cwnd)]);
        let packet = f64::from(info.mss.max(1));
        DctcpFlow { handle, packet, state: DctcpState::new(*self, f64::from(info.init_cwnd) / packet) }
    }
}

/// A flow of [`Dctcp`].
pub struct DctcpFlow<I: Ipc> {
    handle: Handle<I>,
    /// The size of a packet in bytes.
    packet: f64,
    state: DctcpState,
}

bertha_core::debug_fields!(DctcpFlow<I: Ipc> { state });

impl<I: Ipc> Flow for DctcpFlow<I> {
    fn on_report(&mut self, _: u32, report: Report) {
        let field = |name| self.handle.field(&report, name);
        let (Some(acked), Some(marked), Some(lost), Some(timeout), Some(now), Some(rtt)) = (
            field("Report.acked"),
            field("Report.marked"),
            field("Report.lost"),
            field("Report.timeout"),
            field("Report.now"),
            field("Report.rtt"),
        ) else {
            return;
        };
        self.state.count(acked, marked);
        if timeout > 0 {
            self.state.on_timeout();
        } else if lost > 0 {
            self.state.on_loss(now, rtt);
        } else {
            self.state.on_round(now);
        }
        self.handle.set(&[("Cwnd", register(self.state.packets * self.packet))]);
    }
}

/// The state of a flow. Windows are in packets, times in microseconds.
#[derive(Debug)]
struct DctcpState {
    dctcp: Dctcp,
    packets: f64,
    threshold: f64,
    /// The average share of packets that are marked.
    share: f64,
    /// The packets of this round trip, and the marked packets among them.
    acked: f64,
    marked: f64,
    /// The time until which losses count as one.
    recovery_until: u64,
}

impl DctcpState {
    fn new(dctcp: Dctcp, packets: f64) -> Self {
        // At first all packets count as marked, so that the first mark halves the window (section 4.2).
        Self {
            dctcp,
            packets,
            threshold: f64::INFINITY,
            share: 1.0,
            acked: 0.0,
            marked: 0.0,
            recovery_until: 0,
        }
    }

    fn count(&mut self, acked: u64, marked: u64) {
        self.acked += acked as f64;
        self.marked += marked as f64;
    }

    fn on_round(&mut self, now: u64) {
        let acked = std::mem::take(&mut self.acked);
        let marked = std::mem::take(&mut self.marked);
        if acked == 0.0 {
            return;
        }
        let latest = (marked / acked).min(1.0);
        self.share += self.dctcp.g * (latest - self.share);
        if now < self.recovery_until {
            return;
        }
        if marked > 0.0 {
            self.packets = (self.packets * (1.0 - self.share / 2.0)).max(MIN);
            self.threshold = self.packets;
        } else if self.packets < self.threshold {
            self.packets += acked;
        } else {
            self.packets += acked / self.packets;
        }
    }

    fn on_loss(&mut self, now: u64, rtt: u64) {
        if now < self.recovery_until {
            return;
        }
        self.recovery_until = now.saturating_add(rtt);
        self.packets = (self.packets / 2.0).max(MIN);
        self.threshold = self.packets;
    }

    fn on_timeout(&mut self) {
        self.threshold = (self.packets / 2.0).max(MIN);
        self.packets = MIN;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Acknowledges the window in a round trip, of which a share is marked.
    fn round(state: &mut DctcpState, share: f64) -> f64 {
        let packets = state.packets;
        state.count(packets as u64, (packets * share) as u64);
        state.on_round(1_000_000);
        state.packets
    }

    #[test]
    fn the_window_shrinks_by_the_average_share_of_marks() {
        let mut state = DctcpState::new(Dctcp::default(), 10.0);
        assert_eq!([round(&mut state, 0.0), round(&mut state, 0.0)], [20.0, 40.0]);
        // Two round trips have reduced the share from 1, and this round trip has half as many marks as
        // packets.
        let share = 0.9375_f64.powi(2) + (0.5 - 0.9375_f64.powi(2)) / 16.0;
        assert_eq!(round(&mut state, 0.5), 40.0 * (1.0 - share / 2.0));
        // Slow start is over.
        let before = state.packets;
        let grown = round(&mut state, 0.0);
        assert!(grown > before && grown <= before + 1.0, "{before} to {grown}");
        // With few marks for long, a mark costs little.
        state.packets = 100.0;
        (0..200).for_each(|_| {
            round(&mut state, 0.0);
        });
        let before = state.packets;
        let after = round(&mut state, 0.02);
        assert!(after < before && after > 0.99 * before, "{before} to {after}");
    }

    #[test]
    fn losses_of_one_round_trip_halve_the_window_once() {
        let mut state = DctcpState::new(Dctcp::default(), 64.0);
        state.on_loss(1_000, 500);
        state.on_loss(1_400, 500);
        assert_eq!(state.packets, 32.0);
        state.on_loss(1_500, 500);
        assert_eq!(state.packets, 16.0);
        state.on_timeout();
        assert_eq!((state.packets, state.threshold), (MIN, 8.0));
    }

    #[test]
    fn a_heavier_latest_round_trip_forgets_the_marks_before() {
        let mut dctcp = Dctcp::default();
        dctcp.set("g", 0.5).unwrap();
        let mut state = DctcpState::new(dctcp, 10.0);
        round(&mut state, 0.0);
        round(&mut state, 0.0);
        assert_eq!(state.share, 0.25);
    }

    #[test]
    fn more_marks_than_packets_are_all() {
        let mut state = DctcpState::new(Dctcp::default(), 64.0);
        state.count(10, 10_000);
        state.on_round(1);
        assert_eq!((state.share, state.packets), (1.0, 32.0));
    }
}
