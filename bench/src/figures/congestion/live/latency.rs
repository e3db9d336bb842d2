//! Figure 4.7 in real time: the time from a report to the effect of the answer of an agent in another process, and the
//! agent's processor time for it, over a Unix socket and through shared memory.

use super::agent::{AgentProcess, Way};
use super::echo;
use crate::harness::{Effort, alternate, median, percentile};
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use bertha_ccp::Ccp;
use bertha_chunnels::congestion::{Ack, Algorithm, CongestionControl, Flow};
use bertha_plot::{Spread, spreads};
use std::time::{Duration, Instant};

/// Budget of the 95th percentile, in microseconds: at most the thesis's, and not less than two system calls and a change
/// of processes take.
const P95: Budget = Budget::Between(2.0, 30.0);

/// Budget of the median through shared memory against that over the socket. A ratio beyond is a fault of a way.
const WAYS: Budget = Budget::Between(0.2, 2.0);

/// Time after which an agent counts as lost.
const TIME_LIMIT: Duration = Duration::from_secs(5);

/// Size of a packet in bytes.
const PACKET: u64 = 1_352;

/// Reports one after the other, and their answers.
#[derive(Debug, Clone, Copy)]
struct Answered {
    /// Median of the times from a report to the effect of its answer, in microseconds.
    median: f64,
    /// The 95th percentile of these times.
    p95: f64,
    /// Processor time of the agent for a report, in microseconds.
    processor: f64,
}

/// Measures the rows.
///
/// # Errors
/// Errors of the agent's process, and [`ErrorKind::Stalled`] if no answer comes.
pub(in super::super) fn run(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let agent = AgentProcess::start(Duration::ZERO)?;
    let count = effort.pick(2_000, 200);
    let mut all = [Vec::new(), Vec::new()];
    let [by_socket, by_memory] = &mut all;
    let over = |way, all: &mut Vec<f64>| answered(&agent, &agent.control(way)?, count, all);
    let paired =
        alternate(effort.pick(8, 2), || over(Way::Socket, by_socket), || over(Way::Memory, by_memory))?;
    let ways = ["a Unix socket", "shared memory"];
    let boxes: Vec<_> = ways.iter().zip(&all).filter_map(|(way, times)| Spread::of(way, times)).collect();
    let title = "From a report to the answer of another process (thesis, figure 4.7)";
    report.draw("congestion-answers.svg", spreads(title, &boxes))?;
    for (way, samples) in ways.into_iter().zip([paired.a(), paired.b()]) {
        let name = format!("4.7, from a report to the effect of another process's answer, {way}");
        report.median(format!("{name}, median"), &samples, |it| it.median, "µs");
        let p95s: Vec<f64> = samples.iter().map(|sample| sample.p95).collect();
        let p95 = median(&p95s).unwrap_or(f64::NAN);
        report.bounded(format!("{name}, 95th percentile"), p95, "µs", P95);
        report.median(format!("{name}: processor time of the agent"), &samples, |it| it.processor, "µs");
    }
    let name = "4.7, shared memory to a Unix socket: time to the answer";
    report.compare(name, &paired, |sample| sample.median, Some(WAYS));
    let name = "4.7, shared memory to a Unix socket: processor time of the agent";
    report.compare(name, &paired, |sample| sample.processor, None);
    Ok(())
}

/// Measures some answers, and adds their times to those of other runs.
fn answered(agent: &AgentProcess, ccp: &Ccp, count: usize, all: &mut Vec<f64>) -> Result<Answered, Error> {
    let echoing = ccp.clone().algorithm(echo::NAME);
    let echoing = echoing.map_err(|error| Error::new(ErrorKind::Bertha, error.to_string()))?;
    let mut flow = Reporting { control: echoing.start(PACKET), since: Instant::now() };
    while ccp.statistics().by_agent == 0 {
        flow.acknowledge(0);
        flow.check_time(Duration::ZERO)?;
        std::thread::yield_now();
    }
    // The first times suffer from cold caches.
    for _ in 0..count / 10 {
        flow.round_trip()?;
    }
    let before = agent.processor()?;
    let times = (0..count).map(|_| flow.round_trip()).collect::<Result<Vec<_>, _>>()?;
    let used = agent.processor()?.saturating_sub(before);
    let part = |part| percentile(&times, part).unwrap_or(f64::NAN);
    all.extend(&times);
    Ok(Answered { median: part(0.5), p95: part(0.95), processor: used.as_secs_f64() * 1e6 / count as f64 })
}

/// A flow without a transport.
struct Reporting {
    control: Box<dyn CongestionControl>,
    since: Instant,
}

impl Reporting {
    /// Returns the time from a report to the effect of its answer, in microseconds.
    fn round_trip(&mut self) -> Result<f64, Error> {
        let before = self.control.window();
        let begin = self.since.elapsed();
        self.acknowledge(PACKET);
        while self.control.window() == before {
            self.acknowledge(0);
            self.check_time(begin)?;
            // On a single core, the agent needs the processor.
            std::thread::yield_now();
        }
        Ok((self.since.elapsed() - begin).as_secs_f64() * 1e6)
    }

    fn acknowledge(&mut self, bytes: u64) {
        // A control without a program ignores it: its window must not change by itself.
        let ack = Ack { bytes_acked: bytes, now: self.since.elapsed(), ..Ack::default() };
        let flow = Flow { rtt_sample_us: 20_000, is_window_unused: true, ..Flow::default() };
        self.control.on_ack(&ack, &flow);
    }

    fn check_time(&self, begin: Duration) -> Result<(), Error> {
        match self.since.elapsed() - begin > TIME_LIMIT {
            true => Err(Error::new(ErrorKind::Stalled, "an agent does not answer")),
            false => Ok(()),
        }
    }
}
