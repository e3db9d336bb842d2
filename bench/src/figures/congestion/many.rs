//! Figure 4.8: one to 64 flows, their throughput and processor time, and the work for each acknowledgement.

use super::acknowledgement;
use super::control::Control;
use super::flows::{Course, Flow, path};
use crate::Error;
use crate::harness::Effort;
use crate::report::{Budget, Report};
use std::time::Duration;

/// Budget of the throughput of all flows by CCP, against flows in the datapath.
const THROUGHPUT: Budget = Budget::Between(0.95, 1.05);

/// Measures the rows.
///
/// # Errors
/// Errors of the simulation and of the counter.
pub(super) fn run(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let path = path(96.0, 20);
    for flows in [1, 2, 4, 8, 16, 32, 64].into_iter().filter(|flows| effort.pick(true, flows % 8 == 0)) {
        let mut used = Vec::new();
        let mut processor = Vec::new();
        for control in [Control::NewReno, Control::CcpNewReno] {
            let alone = Course::alone(path.clone(), effort.pick(20, 8), Duration::from_millis(100), 1);
            let flow = |number| Flow { start: Duration::from_millis(7) * number, ..Flow::default() };
            let course = Course { flows: (0..flows).map(flow).collect(), ..alone };
            let timed = course.run_timed(control)?;
            let share = timed.history.utilisation(path.rate.mean());
            report.figure(format!("4.8, {flows} flows of {control}: use"), share, "of the link");
            used.push(share);
            processor.push(timed.processor.as_secs_f64());
        }
        let name = format!("4.8, {flows} flows: throughput by CCP to the datapath's");
        report.bounded(name, used[1] / used[0], "x", THROUGHPUT);
        // The agent runs in lockstep, and is called for each report: more work than for an agent that takes
        // many reports at once.
        let name =
            format!("4.8, {flows} flows: processor time by CCP to the datapath's, with the simulation's");
        report.figure(name, processor[1] / processor[0], "x");
    }
    acknowledgement::run(report, effort)
}
