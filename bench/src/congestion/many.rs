//! Figure 4.8: one to 64 flows, their throughput, and the work for each acknowledgement.

use super::compiled::Compiled;
use super::control::Control;
use super::flows::{Course, Flow, path};
use crate::Error;
use crate::harness::{Counter, Effort};
use crate::report::{Budget, Report};
use bertha_ccp::{Ccp, Datapath, Link};
use bertha_chunnels::congestion::{Ack, Algorithm, CongestionControl, Cubic, NewReno};
use std::hint::black_box;
use std::time::Duration;

/// The throughput of all flows by CCP, against the same in the datapath.
const THROUGHPUT: Budget = Budget::AtLeast(0.95);

/// Measures.
///
/// # Errors
/// Those of the simulation and of the counter.
pub(super) fn run(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let path = path(96.0, 20);
    for flows in [1, 2, 4, 8, 16, 32, 64].into_iter().filter(|flows| effort.pick(true, flows % 8 == 0)) {
        let mut used = Vec::new();
        for control in [Control::NewReno, Control::CcpNewReno] {
            let alone = Course::alone(path.clone(), effort.pick(20, 8), Duration::from_millis(100), 1);
            let flow = |number| Flow { start: Duration::from_millis(7) * number, ..Flow::default() };
            let course = Course { flows: (0..flows).map(flow).collect(), ..alone };
            let share = course.run(control)?.utilisation(path.rate.mean());
            report.figure(format!("4.8, {flows} flows of {control}: use"), share, "of the link");
            used.push(share);
        }
        let name = format!("4.8, {flows} flows: throughput by CCP to the datapath's");
        report.bounded(name, used[1] / used[0], "x", THROUGHPUT);
    }
    for (name, of) in [
        ("newreno", "NewReno in the datapath"),
        ("cubic", "Cubic in the datapath"),
        ("ccp", "NewReno by CCP, a report each 10 ms"),
        ("ccpeach", "NewReno by CCP, a report each time"),
    ] {
        let counted = Counter::of_probe(format!("congestion-{name}"))
            .and_then(|counter| counter.instructions(effort.pick(20_000, 4_000)));
        report.count(&format!("4.8, an acknowledgement: {of}"), counted)?;
    }
    Ok(())
}

/// A program that counts, and reports each 10 ms or each time.
const PROGRAM: &str = "
    (def (Report (volatile acked 0) (volatile lost 0) (volatile minrtt +infinity) (now 0)))
    (when true
        (:= Report.acked (+ Report.acked (+ Ack.bytes_acked Ack.bytes_misordered)))
        (:= Report.lost (+ Report.lost Ack.lost_pkts_sample))
        (:= Report.minrtt (min Report.minrtt Flow.rtt_sample_us))
        (:= Report.now Ack.now)
        (fallthrough))
    (when (|| (> Ack.lost_pkts_sample 0) (> Micros PERIOD)) (report) (:= Micros 0))";

/// A link whose agent says nothing, and whose cost is that of a system call less.
#[derive(Debug)]
struct Silent;

impl Link for Silent {
    fn send(&self, message: &[u8]) -> Result<(), bertha_core::Error> {
        black_box(message);
        Ok(())
    }
}

/// Runs the probe of that name: one acknowledgement for each iteration.
pub(super) fn probe(name: &str, iterations: u64) -> Option<Result<(), Error>> {
    let control = match name {
        "newreno" => Ok(NewReno.start(1_352)),
        "cubic" => Ok(Cubic.start(1_352)),
        "ccp" => by_program("10000"),
        "ccpeach" => by_program("0"),
        _ => return None,
    };
    Some(control.map(|mut control| acknowledge(&mut *control, iterations)))
}

/// A control by the program, with this time between reports in microseconds.
fn by_program(period: &str) -> Result<Box<dyn CongestionControl>, Error> {
    let compiled = Compiled::of(&PROGRAM.replace("PERIOD", period))?;
    let datapath = Datapath::new(Silent);
    datapath.handle(&compiled.install);
    // Never silent for too long.
    let ccp = Ccp::over(datapath.clone()).agent_timeout(Duration::MAX);
    let control = ccp.start(1_352);
    // The flow is the first one.
    datapath.handle(&compiled.change(1)?);
    Ok(control)
}

fn acknowledge(control: &mut dyn CongestionControl, iterations: u64) {
    let flow = bertha_chunnels::congestion::Flow {
        rtt_sample_us: 20_000,
        rate_outgoing: 12_000_000,
        rate_incoming: 12_000_000,
        bytes_in_flight: 240_000,
        packets_in_flight: 178,
        ..Default::default()
    };
    for number in 0..iterations {
        let now = Duration::from_micros(20_000 + 112 * number);
        let ack = Ack {
            bytes_acked: 1_352,
            packets_acked: 1,
            // So that the window stays within bounds.
            lost_pkts_sample: u64::from(number % 512 == 511),
            newest_lost_sent: (number % 512 == 511).then_some(now),
            newest_acked_sent: Some(now - Duration::from_micros(20_000)),
            now,
            ..Ack::default()
        };
        control.on_ack(black_box(&ack), black_box(&flow));
        black_box(control.window());
    }
}
