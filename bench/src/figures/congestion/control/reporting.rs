//! NewReno by an agent, with any time between reports.

use portus::ipc::Ipc;
use portus::lang::Scope;
use portus::{CongAlg, Datapath, DatapathInfo, DatapathTrait, Flow, Report};
use std::collections::HashMap;
use std::time::Duration;

/// NewReno whose datapath reports once per period, and reports losses at once.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Reporting {
    pub(in super::super) period: Duration,
    /// The initial window in packets; `None` means the datapath's.
    pub(in super::super) initial: Option<u32>,
}

const PROGRAM: &str = "
    (def (Report (volatile acked 0) (volatile lost 0) (now 0) (rtt 0)) (period 1000))
    (when true
        (:= Report.acked (+ Report.acked (+ Ack.bytes_acked Ack.bytes_misordered)))
        (:= Report.lost (+ Report.lost Ack.lost_pkts_sample))
        (:= Report.now Ack.now)
        (:= Report.rtt Flow.rtt_sample_us)
        (fallthrough))
    (when (|| (> Ack.lost_pkts_sample 0) (> Micros period)) (report) (:= Micros 0))";

const NAME: &str = "a period";

/// A flow of [`Reporting`].
pub(in super::super) struct ReportingFlow<I: Ipc> {
    datapath: Datapath<I>,
    scope: Option<Scope>,
    packet: f64,
    window: f64,
    threshold: f64,
    /// End of recovery in microseconds; losses until then count as one.
    recovery_until: u64,
}

impl<I: Ipc> CongAlg<I> for Reporting {
    type Flow = ReportingFlow<I>;

    fn name() -> &'static str {
        "reporting"
    }

    fn datapath_programs(&self) -> HashMap<&'static str, String> {
        HashMap::from([(NAME, PROGRAM.to_owned())])
    }

    fn new_flow(&self, mut datapath: Datapath<I>, info: DatapathInfo) -> ReportingFlow<I> {
        let initial = self.initial.map_or(info.init_cwnd, |packets| packets * info.mss);
        let fields = [("Cwnd", initial), ("period", self.period.as_micros() as u32)];
        let scope = datapath.set_program(NAME, Some(&fields)).ok();
        let packet = f64::from(info.mss);
        let window = f64::from(initial);
        ReportingFlow { datapath, scope, packet, window, threshold: f64::INFINITY, recovery_until: 0 }
    }
}

impl<I: Ipc> Flow for ReportingFlow<I> {
    fn on_report(&mut self, _: u32, report: Report) {
        let Some(scope) = &self.scope else { return };
        let field = |name| report.get_field(name, scope).unwrap_or(0);
        let acked = field("Report.acked") as f64;
        let now = field("Report.now");
        let is_recovering = now < self.recovery_until;
        if field("Report.lost") > 0 && !is_recovering {
            self.threshold = (self.window / 2.0).max(2.0 * self.packet);
            self.window = self.threshold;
            self.recovery_until = now + field("Report.rtt");
        } else if !is_recovering {
            let is_slow_start = self.window < self.threshold;
            self.window += if is_slow_start { acked } else { self.packet * acked / self.window };
        }
        // A flow that is over accepts no more changes.
        let _ = self.datapath.update_field(scope, &[("Cwnd", self.window as u32)]);
    }
}
