//! The work for an acknowledgement, of controls in the datapath and of programs: instructions, processor time
//! and allocations.

use super::compiled::Compiled;
use crate::harness::{Counter, Effort, median, thread_time};
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use bertha_allocations::in_thread;
use bertha_ccp::{AgentEnd, Ccp, Datapath, Link, algorithms};
use bertha_chunnels::congestion::{Ack, Algorithm, CongestionControl, Cubic, Flow, NewReno};
use portus::CongAlg;
use std::fmt;
use std::hint::black_box;
use std::time::Duration;

/// Budget of the processor time of the program of BBR, in nanoseconds.
const BBR_TIME: Budget = Budget::AtMost(150.0);

/// Budget of an acknowledgement's allocations: none.
const NO_ALLOCATION: Budget = Budget::AtMost(0.0);

/// Number of times that processor time is taken; the row has the median.
const ROUNDS: usize = 9;

/// Size of a packet, and time between two packets at 96 Mbit/s.
const PACKET: u64 = 1_352;
const PAUSE_US: u64 = 112;

/// A control of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    NewReno,
    Cubic,
    /// NewReno by an agent, with a report each 10 ms, or for each acknowledgement.
    Summaries,
    Reports,
    /// The pattern of rates of BBR by an agent.
    Bbr,
}

impl Subject {
    const ALL: [Self; 5] = [Self::NewReno, Self::Cubic, Self::Summaries, Self::Reports, Self::Bbr];

    /// Returns the name of the probe.
    fn probe(self) -> &'static str {
        match self {
            Self::NewReno => "newreno",
            Self::Cubic => "cubic",
            Self::Summaries => "ccp",
            Self::Reports => "ccpeach",
            Self::Bbr => "ccpbbr",
        }
    }

    fn start(self) -> Result<Box<dyn CongestionControl>, Error> {
        match self {
            Self::NewReno => Ok(NewReno.start(PACKET)),
            Self::Cubic => Ok(Cubic.start(PACKET)),
            Self::Summaries => by_program(&PROGRAM.replace("PERIOD", "10000"), &[]),
            Self::Reports => by_program(&PROGRAM.replace("PERIOD", "0"), &[]),
            Self::Bbr => {
                let mut programs = CongAlg::<AgentEnd>::datapath_programs(&algorithms::Bbr);
                let program = programs.remove("probe bandwidth").ok_or_else(|| {
                    Error::new(ErrorKind::Probe, "BBR has no program that probes for bandwidth")
                })?;
                by_program(&program, &BBR_FIELDS)
            }
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NewReno => "NewReno in the datapath",
            Self::Cubic => "Cubic in the datapath",
            Self::Summaries => "NewReno by CCP, a report each 10 ms",
            Self::Reports => "NewReno by CCP, a report each time",
            Self::Bbr => "BBR by CCP, three reports in eight round trips",
        })
    }
}

/// Measures the rows.
///
/// # Errors
/// Errors of the counter, and [`ErrorKind::Probe`] if a program can't be compiled.
pub(super) fn run(report: &mut Report, effort: Effort) -> Result<(), Error> {
    for subject in Subject::ALL {
        let name = |of: &str| format!("4.8, an acknowledgement: {subject}{of}");
        let counted = Counter::of_probe(format!("congestion-{}", subject.probe()))
            .and_then(|counter| counter.instructions(effort.pick(20_000, 4_000)));
        report.count(&name(""), counted)?;
        let nanos = processor_time(subject, effort.pick(200_000, 20_000))?;
        match subject {
            Subject::Bbr => report.bounded(name(", processor time"), nanos, "ns", BBR_TIME),
            _ => report.figure(name(", processor time"), nanos, "ns"),
        }
        let count = allocations(subject, effort.pick(20_000, 4_000))?;
        report.bounded(name(", allocations"), count, "allocations", NO_ALLOCATION);
    }
    Ok(())
}

/// Returns the nanoseconds for each acknowledgement.
fn processor_time(subject: Subject, count: u64) -> Result<f64, Error> {
    let mut control = subject.start()?;
    let mut acks = 0..;
    let mut round = || {
        let before = thread_time();
        acknowledge(&mut *control, acks.by_ref().take(count as usize));
        (thread_time() - before).as_nanos() as f64 / count as f64
    };
    // The first round warms up.
    round();
    let times: Vec<_> = (0..ROUNDS).map(|_| round()).collect();
    Ok(median(&times).unwrap_or(f64::NAN))
}

/// Returns the allocations for each acknowledgement, once the flow has a program.
fn allocations(subject: Subject, count: u64) -> Result<f64, Error> {
    let mut control = subject.start()?;
    acknowledge(&mut *control, 0..count);
    let ((), allocations) = in_thread(|| acknowledge(&mut *control, count..2 * count));
    Ok(allocations as f64 / count as f64)
}

/// Runs the probe with this name: an acknowledgement for each iteration.
pub(super) fn probe(name: &str, iterations: u64) -> Option<Result<(), Error>> {
    let subject = Subject::ALL.into_iter().find(|subject| subject.probe() == name)?;
    Some(subject.start().map(|mut control| acknowledge(&mut *control, 0..iterations)))
}

/// A program that counts, and reports after a time or for each acknowledgement.
const PROGRAM: &str = "
    (def (Report (volatile acked 0) (volatile lost 0) (volatile minrtt +infinity) (now 0)))
    (when true
        (:= Report.acked (+ Report.acked (+ Ack.bytes_acked Ack.bytes_misordered)))
        (:= Report.lost (+ Report.lost Ack.lost_pkts_sample))
        (:= Report.minrtt (min Report.minrtt Flow.rtt_sample_us))
        (:= Report.now Ack.now)
        (fallthrough))
    (when (|| (> Ack.lost_pkts_sample 0) (> Micros PERIOD)) (report) (:= Micros 0))";

/// The answer of BBR's agent for 96 Mbit/s and 20 ms.
const BBR_FIELDS: [(&str, u32); 6] = [
    ("high", 15_000_000),
    ("low", 9_000_000),
    ("cruise", 12_000_000),
    ("round", 20_000),
    ("cruising", 120_000),
    ("Cwnd", 480_000),
];

/// A link whose agent sends nothing, and whose cost is lower by a system call.
#[derive(Debug)]
struct Silent;

impl Link for Silent {
    fn send(&self, message: &[u8]) -> Result<(), bertha_core::Error> {
        black_box(message);
        Ok(())
    }
}

/// Returns a control by a program.
fn by_program(program: &str, fields: &[(&str, u32)]) -> Result<Box<dyn CongestionControl>, Error> {
    let compiled = Compiled::of(program)?;
    let datapath = Datapath::new(Silent);
    datapath.handle(&compiled.install);
    // With this time-out, the agent is never silent for too long.
    let ccp = Ccp::over(datapath.clone()).agent_timeout(Duration::MAX);
    let control = ccp.start(PACKET);
    // The flow has number 1.
    datapath.handle(&compiled.change(1, fields)?);
    Ok(control)
}

fn acknowledge(control: &mut dyn CongestionControl, numbers: impl Iterator<Item = u64>) {
    let flow = Flow {
        rtt_sample_us: 20_000,
        rate_outgoing: 12_000_000,
        rate_incoming: 12_000_000,
        bytes_in_flight: 240_000,
        packets_in_flight: 178,
        ..Flow::default()
    };
    for number in numbers {
        let now = Duration::from_micros(20_000 + PAUSE_US * number);
        let ack = Ack {
            bytes_acked: PACKET,
            packets_acked: 1,
            // Losses keep the window within bounds.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_report_as_often_as_they_say_and_no_acknowledgement_allocates() {
        use std::sync::Arc;
        use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

        /// A counter of reports, which are the only messages after the first two.
        #[derive(Debug, Clone, Default)]
        struct CountsMessages(Arc<AtomicUsize>);

        impl Link for CountsMessages {
            fn send(&self, _: &[u8]) -> Result<(), bertha_core::Error> {
                self.0.fetch_add(1, Relaxed);
                Ok(())
            }
        }

        let mut programs = CongAlg::<AgentEnd>::datapath_programs(&algorithms::Bbr);
        let compiled = Compiled::of(&programs.remove("probe bandwidth").unwrap()).unwrap();
        let messages = CountsMessages::default();
        let datapath = Datapath::new(messages.clone());
        datapath.handle(&compiled.install);
        let mut control = Ccp::over(datapath.clone()).agent_timeout(Duration::MAX).start(PACKET);
        datapath.handle(&compiled.change(1, &BBR_FIELDS).unwrap());
        let before = messages.0.load(Relaxed);
        // The time of 1.6 seconds is ten cycles of three reports.
        acknowledge(&mut *control, 0..1_600_000 / PAUSE_US);
        let reports = messages.0.load(Relaxed) - before;
        assert!((28..=30).contains(&reports), "{reports} reports");
        // Each part of a cycle lasts until the first acknowledgement after its time, so that the last part of
        // the tenth cycle is not over.
        assert_eq!((control.window(), control.rate()), (480_000, Some(15_000_000)));
        for subject in Subject::ALL {
            assert_eq!(allocations(subject, 1_000).unwrap(), 0.0, "{subject}");
        }
    }
}
