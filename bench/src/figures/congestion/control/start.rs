//! Slow start alone, in the program or in the agent.

use portus::ipc::Ipc;
use portus::lang::Scope;
use portus::{CongAlg, Datapath, DatapathInfo, DatapathTrait};
use std::collections::HashMap;
use std::fmt;

/// The place in which slow start is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::figures::congestion) enum Start {
    /// The datapath decides, without CCP.
    Datapath,
    /// The program decides, for each acknowledgement (listing 4.3).
    Fold,
    /// The agent decides, once per round trip (listing 4.2).
    Agent,
    /// The program decides, by a rate that doubles each round trip.
    Rate,
}

impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Datapath => "in the datapath",
            Self::Fold => "in the program, each acknowledgement",
            Self::Agent => "in the agent, each round trip",
            Self::Rate => "in the program, by rate",
        })
    }
}

const FOLD: &str = "
    (def (Report (volatile lost 0)))
    (when true (:= Cwnd (+ Cwnd (+ Ack.bytes_acked Ack.bytes_misordered))) (fallthrough))
    (when (> Ack.lost_pkts_sample 0) (:= Report.lost 1) (report))";

const AGENT: &str = "
    (def (Report (volatile acked 0) (volatile lost 0)))
    (when true
        (:= Report.acked (+ Report.acked (+ Ack.bytes_acked Ack.bytes_misordered)))
        (:= Report.lost (+ Report.lost Ack.lost_pkts_sample))
        (fallthrough))
    (when (> Micros Flow.rtt_sample_us) (report) (:= Micros 0))";

// The window is large enough not to matter.
const RATE: &str = "
    (def (Report (volatile lost 0)) (first 1))
    (when (== first 1) (:= Rate (/ (* Cwnd 1000000) Flow.rtt_sample_us)) (:= Cwnd 100000000) (:= first 0) (:= Micros 0))
    (when (> Micros Flow.rtt_sample_us) (:= Rate (* Rate 2)) (:= Micros 0) (fallthrough))
    (when (> Ack.lost_pkts_sample 0) (:= Report.lost 1) (report))";

/// Common name of the programs, since a flow uses a single program.
const NAME: &str = "slow start";

impl<I: Ipc> CongAlg<I> for Start {
    type Flow = StartFlow<I>;

    fn name() -> &'static str {
        "slow start"
    }

    fn datapath_programs(&self) -> HashMap<&'static str, String> {
        let program = match self {
            Self::Datapath | Self::Fold => FOLD,
            Self::Agent => AGENT,
            Self::Rate => RATE,
        };
        HashMap::from([(NAME, program.to_owned())])
    }

    fn new_flow(&self, mut datapath: Datapath<I>, info: DatapathInfo) -> StartFlow<I> {
        let scope = datapath.set_program(NAME, Some(&[("Cwnd", info.init_cwnd)])).ok();
        StartFlow { datapath, scope, window: info.init_cwnd }
    }
}

/// A flow in slow start, until its first loss.
pub(in crate::figures::congestion) struct StartFlow<I: Ipc> {
    datapath: Datapath<I>,
    scope: Option<Scope>,
    window: u32,
}

impl<I: Ipc> portus::Flow for StartFlow<I> {
    fn on_report(&mut self, _: u32, report: portus::Report) {
        let Some(scope) = &self.scope else { return };
        let field = |name| report.get_field(name, scope).unwrap_or(0) as u32;
        if field("Report.lost") == 0 {
            self.window = self.window.saturating_add(field("Report.acked"));
            // A flow that is over accepts no more changes.
            let _ = self.datapath.update_field(scope, &[("Cwnd", self.window)]);
        }
    }
}
