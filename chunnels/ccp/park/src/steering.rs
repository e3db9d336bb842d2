//! The algorithm of the agent: it asks a learner for each window.

use crate::observation::Observation;
use crate::path::{PACKET, START};
use portus::ipc::Ipc;
use portus::lang::Scope;
use portus::{CongAlg, Datapath, DatapathInfo, DatapathTrait, Flow, Report};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::Duration;

/// A program that reports once per round trip of the empty path.
const PROGRAM: &str = "
    (def (Report (volatile acked 0) (volatile lost 0) (volatile rtt +infinity) (volatile time 0)))
    (when true
        (:= Report.acked (+ Report.acked (+ Ack.bytes_acked Ack.bytes_misordered)))
        (:= Report.lost (+ Report.lost Ack.lost_pkts_sample))
        (:= Report.rtt (min Report.rtt Flow.rtt_sample_us))
        (:= Report.time Micros)
        (fallthrough))
    (when (> Micros 50000) (report) (:= Micros 0))";

const NAME: &str = "a step";

/// An algorithm whose windows a learner chooses, for one flow.
pub(crate) struct Steering {
    learner: Cell<Option<Channel>>,
}

/// The way to the learner, which waits on another thread.
struct Channel {
    observed: SyncSender<Observation>,
    decisions: Receiver<f64>,
}

impl Steering {
    pub(crate) fn new(observed: SyncSender<Observation>, decisions: Receiver<f64>) -> Self {
        Self { learner: Cell::new(Some(Channel { observed, decisions })) }
    }
}

impl<I: Ipc> CongAlg<I> for Steering {
    type Flow = Steered<I>;

    fn name() -> &'static str {
        "park"
    }

    fn datapath_programs(&self) -> HashMap<&'static str, String> {
        HashMap::from([(NAME, PROGRAM.to_owned())])
    }

    fn new_flow(&self, datapath: Datapath<I>, _: DatapathInfo) -> Steered<I> {
        let mut flow = Steered { datapath, scope: None, learner: self.learner.take(), window: START };
        if let Some(window) = flow.decide(Observation { window: START, ..Observation::default() }) {
            flow.window = window;
            flow.scope = flow.datapath.set_program(NAME, Some(&[("Cwnd", bytes(window))])).ok();
        }
        flow
    }
}

/// A flow, which keeps its window once the episode is over.
pub(crate) struct Steered<I: Ipc> {
    datapath: Datapath<I>,
    scope: Option<Scope>,
    learner: Option<Channel>,
    /// The window in packets.
    window: f64,
}

impl<I: Ipc> Steered<I> {
    /// Returns the learner's decision; `None` if the episode is over.
    fn decide(&mut self, observation: Observation) -> Option<f64> {
        let learner = self.learner.as_ref()?;
        let decision = match learner.observed.send(observation) {
            Ok(()) => learner.decisions.recv().ok(),
            Err(_) => None,
        };
        if decision.is_none() {
            self.learner = None;
        }
        decision
    }

    fn observation(&self, report: &Report) -> Option<Observation> {
        let scope = self.scope.as_ref()?;
        let field = |name| report.get_field(name, scope).ok();
        let [rtt, time] = [field("Report.rtt")?, field("Report.time")?].map(Duration::from_micros);
        Some(Observation::of(field("Report.acked")?, field("Report.lost")?, rtt, time, self.window))
    }
}

impl<I: Ipc> Flow for Steered<I> {
    fn on_report(&mut self, _: u32, report: Report) {
        let Some(window) = self.observation(&report).and_then(|observation| self.decide(observation)) else {
            return;
        };
        self.window = window;
        if let Some(scope) = &self.scope {
            // The datapath is gone if this fails, and the episode is over.
            let _ = self.datapath.update_field(scope, &[("Cwnd", bytes(window))]);
        }
    }
}

fn bytes(packets: f64) -> u32 {
    (packets * PACKET as f64) as u32
}
