//! Algorithms that choose a window per round trip.

use super::handle::{Handle, register};
use portus::ipc::Ipc;
use portus::{Datapath, DatapathInfo, Flow, Report};
use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

/// Counts what a round trip acknowledged, and reports it; losses at once.
const PROGRAM: &str = "
    (def (Report (volatile acked 0) (volatile lost 0) (volatile timeout 0) (volatile minrtt +infinity) (now 0)))
    (when true
        (:= Report.acked (+ Report.acked (+ Ack.bytes_acked Ack.bytes_misordered)))
        (:= Report.lost (+ Report.lost Ack.lost_pkts_sample))
        (:= Report.timeout (if Flow.was_timeout 1))
        (:= Report.minrtt (min Report.minrtt Flow.rtt_sample_us))
        (:= Report.now Ack.now)
        (fallthrough))
    (when (|| (> Ack.lost_pkts_sample 0) (> Micros Flow.rtt_sample_us)) (report) (:= Micros 0))";

const NAME: &str = "a round trip";

/// The programs of all these algorithms.
pub(super) fn programs() -> HashMap<&'static str, String> {
    HashMap::from([(NAME, PROGRAM.to_owned())])
}

/// The events of a round trip, or until a loss.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    /// Packets that were acknowledged.
    pub(super) acked: f64,
    /// The smallest round-trip time.
    pub(super) rtt: Duration,
    /// The time since the flow began.
    pub(super) now: Duration,
}

/// A window in packets.
pub(super) trait Window: Send + 'static {
    /// Nothing was lost.
    fn on_round(&mut self, round: &Round);

    /// Something was lost: once per round trip.
    fn on_loss(&mut self, round: &Round);

    /// All was lost for long.
    fn on_timeout(&mut self);

    fn packets(&self) -> f64;
}

/// The smallest window, in packets.
pub(super) const MIN: f64 = 2.0;

/// A flow whose window changes once per round trip.
pub struct WindowFlow<I: Ipc> {
    handle: Handle<I>,
    window: Box<dyn Window>,
    /// The size of a packet in bytes.
    packet: f64,
    /// The end of the round trip in which losses count as one.
    recovery_until: Duration,
}

impl<I: Ipc> fmt::Debug for WindowFlow<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WindowFlow").field("packets", &self.window.packets()).finish_non_exhaustive()
    }
}

impl<I: Ipc> WindowFlow<I> {
    pub(super) fn new(
        datapath: Datapath<I>,
        info: &DatapathInfo,
        start: impl FnOnce(f64) -> Box<dyn Window>,
    ) -> Self {
        let packet = f64::from(info.mss.max(1));
        let mut handle = Handle::new(datapath);
        handle.begin(NAME, &[("Cwnd", info.init_cwnd)]);
        let window = start(f64::from(info.init_cwnd) / packet);
        Self { handle, window, packet, recovery_until: Duration::ZERO }
    }

    fn round(&self, report: &Report) -> Option<(Round, u64, u64)> {
        let field = |name| self.handle.field(report, name);
        let round = Round {
            acked: field("Report.acked")? as f64 / self.packet,
            rtt: Duration::from_micros(field("Report.minrtt")?),
            now: Duration::from_micros(field("Report.now")?),
        };
        Some((round, field("Report.lost")?, field("Report.timeout")?))
    }
}

impl<I: Ipc> Flow for WindowFlow<I> {
    fn on_report(&mut self, _: u32, report: Report) {
        let Some((round, lost, timeout)) = self.round(&report) else { return };
        let is_recovering = round.now < self.recovery_until;
        if timeout > 0 {
            self.window.on_timeout();
        } else if lost > 0 && !is_recovering {
            self.window.on_loss(&round);
            self.recovery_until = round.now + round.rtt;
        } else if lost == 0 && !is_recovering {
            self.window.on_round(&round);
        }
        let packets = self.window.packets().max(MIN);
        self.handle.set(&[("Cwnd", register(packets * self.packet))]);
    }
}
