//! The flows of the kernel, and their controls.

use crate::decision::Decision;
use crate::measurement::Measurement;
use bertha_chunnels::congestion::{Algorithm, CongestionControl};
use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// Maximum number of flows, which is also that of the kernel's map.
pub(crate) const MAX_FLOWS: usize = 1 << 16;

/// Time without a measurement after which a flow is forgotten. Under load, Linux 6.18 ends the socket of a flow now and then without a word
/// to its congestion control, and such a flow looks like one that is idle.
const IDLE: Duration = Duration::from_secs(30);

/// The flows of the kernel, and their controls. Measurements come in, and decisions go out, without I/O.
pub(crate) struct Flows<A> {
    algorithm: A,
    flows: HashMap<u64, Controlled>,
    /// The flows whose last measurement is not answered yet.
    unanswered: Vec<u64>,
    /// The entries that were of no flow at the last look.
    unused: HashSet<u64>,
}

struct Controlled {
    control: Box<dyn CongestionControl>,
    /// The time of the last measurement.
    heard: Duration,
    decision: Decision,
    is_unanswered: bool,
}

impl<A: Algorithm> Flows<A> {
    pub(crate) fn new(algorithm: A) -> Self {
        let (flows, unanswered, unused) = Default::default();
        Self { algorithm, flows, unanswered, unused }
    }

    /// Returns the number of flows.
    pub(crate) fn len(&self) -> usize {
        self.flows.len()
    }

    /// Handles a measurement that has come at this time. `entry` returns the entry of a flow that is new, unless it is over.
    pub(crate) fn on_measurement(
        &mut self,
        measurement: &Measurement,
        now: Duration,
        entry: impl FnOnce() -> Option<Decision>,
    ) {
        let number = measurement.flow;
        if measurement.has_ended() {
            self.flows.remove(&number);
            return;
        }
        if !self.flows.contains_key(&number) {
            let Some(controlled) = self.begin(now, entry) else { return };
            self.flows.insert(number, controlled);
        }
        let Some(flow) = self.flows.get_mut(&number) else { return };
        flow.heard = now;
        let (ack, state) = measurement.signals();
        flow.control.on_ack(&ack, &state);
        flow.decision.decide(flow.control.window(), flow.control.rate(), measurement.number);
        if !std::mem::replace(&mut flow.is_unanswered, true) {
            self.unanswered.push(number);
        }
    }

    fn begin(&self, now: Duration, entry: impl FnOnce() -> Option<Decision>) -> Option<Controlled> {
        if self.flows.len() >= MAX_FLOWS {
            return None;
        }
        let decision = entry()?;
        let control = self.algorithm.start_flow(&decision.flow()?);
        Some(Controlled { control, heard: now, decision, is_unanswered: false })
    }

    /// Hands over the decisions that answer the measurements since the last call, one of each flow. `write` returns
    /// false if the flow is over.
    pub(crate) fn answer(&mut self, mut write: impl FnMut(u64, &Decision) -> bool) {
        for number in self.unanswered.drain(..) {
            let Some(flow) = self.flows.get_mut(&number) else { continue };
            flow.is_unanswered = false;
            if !write(number, &flow.decision) {
                self.flows.remove(&number);
            }
        }
    }

    /// Forgets the flows that have been idle for [`IDLE`]. A flow that goes on begins anew.
    pub(crate) fn forget_idle(&mut self, now: Duration) {
        self.flows.retain(|_, flow| now.saturating_sub(flow.heard) < IDLE);
    }

    /// Returns the entries that are of no flow here, and were of none at the last call either: the flow is over or has been idle. An entry
    /// that is new belongs to a flow whose first measurement is still to come.
    pub(crate) fn forgotten(&mut self, entries: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let unused: HashSet<_> =
            entries.into_iter().filter(|number| !self.flows.contains_key(number)).collect();
        let forgotten = unused.intersection(&self.unused).copied().collect();
        self.unused = unused;
        forgotten
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::tests::{begun, decided};
    use crate::measurement::tests::{end, measured};
    use bertha_chunnels::congestion::NewReno;

    const NOW: Duration = Duration::from_secs(1);

    fn entry() -> Option<Decision> {
        Some(begun([1; 16], 2))
    }

    fn answers(flows: &mut Flows<NewReno>) -> Vec<(u64, [u64; 3])> {
        let mut answers = Vec::new();
        flows.answer(|flow, decision| {
            answers.push((flow, decided(decision)));
            flow != 9
        });
        answers
    }

    #[test]
    fn each_flow_has_a_control_of_its_own_and_one_answer_for_its_measurements() {
        let mut flows = Flows::new(NewReno);
        for number in 1..=3 {
            flows.on_measurement(&measured(1, number, 2, 0), NOW, entry);
        }
        flows.on_measurement(&measured(2, 1, 0, 1), NOW, entry);
        // The window of ten packets grows by each acknowledged packet, and is halved by a loss.
        assert_eq!(answers(&mut flows), [(1, [16_000, 0, 3]), (2, [5_000, 0, 1])]);
        assert_eq!(answers(&mut flows), []);
        flows.on_measurement(&measured(1, 4, 1, 0), NOW, || panic!("the flow is known"));
        assert_eq!(answers(&mut flows), [(1, [17_000, 0, 4])]);
    }

    #[test]
    fn a_flow_is_gone_after_its_end_however_that_is_known() {
        let mut flows = Flows::new(NewReno);
        flows.on_measurement(&measured(1, 1, 1, 0), NOW, entry);
        flows.on_measurement(&end(1), NOW, || panic!("an end begins nothing"));
        assert_eq!((answers(&mut flows), flows.len()), (vec![], 0));
        flows.on_measurement(&measured(1, 2, 1, 0), NOW, || None);
        assert_eq!((answers(&mut flows), flows.len()), (vec![], 0));
        flows.on_measurement(&measured(9, 1, 1, 0), NOW, entry);
        assert_eq!((answers(&mut flows).len(), flows.len()), (1, 0));
    }

    #[test]
    fn an_idle_flow_is_forgotten_and_begins_anew() {
        let mut flows = Flows::new(NewReno);
        for flow in 1..=3 {
            flows.on_measurement(&measured(flow, 1, 1, 0), NOW, entry);
        }
        flows.on_measurement(&measured(2, 2, 1, 0), NOW + IDLE / 2, || panic!("the flow is known"));
        flows.forget_idle(NOW + IDLE);
        assert_eq!(answers(&mut flows).iter().map(|(flow, _)| *flow).collect::<Vec<_>>(), [2]);
        flows.on_measurement(&measured(3, 2, 1, 0), NOW + IDLE, entry);
        assert_eq!(flows.len(), 2);
    }

    #[test]
    fn an_entry_is_forgotten_once_two_looks_have_found_no_flow_of_it() {
        let mut flows = Flows::new(NewReno);
        flows.on_measurement(&measured(1, 1, 1, 0), NOW, entry);
        assert!(flows.forgotten([1, 2, 3]).is_empty());
        flows.on_measurement(&measured(3, 1, 1, 0), NOW, entry);
        assert_eq!(flows.forgotten([1, 2, 3, 4]), [2]);
        assert_eq!(flows.forgotten([1, 3, 4]), [4]);
    }

    #[test]
    fn flows_are_bounded() {
        let mut flows = Flows::new(NewReno);
        (0..=MAX_FLOWS as u64).for_each(|flow| flows.on_measurement(&measured(flow, 1, 1, 0), NOW, entry));
        assert_eq!(flows.len(), MAX_FLOWS);
    }
}
