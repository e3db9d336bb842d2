//! Table 4.1 and figures 4.8a and 4.8b in real time: flows of `Reliable` over the loopback interface, controlled by
//! NewReno in the datapath, and by NewReno of an agent in another process, over a Unix socket and through shared memory. Figure 4.7
//! has the time of an answer of such an agent.

mod agent;
mod echo;
mod latency;
mod transfer;

pub(crate) use agent::serve;
pub(super) use agent::{AgentProcess, Way};
pub(super) use latency::run as latency;

use crate::Error;
use crate::harness::{Effort, alternate, median};
use crate::report::{Budget, Report};
use bertha_chunnels::congestion::NewReno;
use bertha_plot::{Panel, Series, over};
use std::time::Duration;
use transfer::{Carried, Transfer};

/// The times between reports of table 4.1, of which zero is a report for each acknowledgement; the thesis has
/// 0.68 for that one, and nearly 1 for ten milliseconds.
const PERIODS: [(&str, Duration, Option<Budget>); 4] = [
    ("each acknowledgement", Duration::ZERO, None),
    ("each 0.1 ms", Duration::from_micros(100), None),
    ("each 1 ms", Duration::from_millis(1), None),
    ("each 10 ms", Duration::from_millis(10), Some(CLOSE)),
];

/// Numbers of flows in figure 4.8a.
const FLOWS: [usize; 4] = [1, 4, 16, 64];

/// Budget of the throughput under an agent that gets few reports, against the datapath's control.
const CLOSE: Budget = Budget::Between(0.95, 1.15);

/// Measures the rows of table 4.1.
///
/// # Errors
/// Errors of sockets, of the agent's process, and of the flows.
pub(super) fn reporting(report: &mut Report, effort: Effort) -> Result<(), Error> {
    for (label, period, budget) in PERIODS {
        compare(report, &format!("4.1, a flow over loopback, a report {label}"), 1, period, budget, effort)?;
    }
    Ok(())
}

/// Measures the rows of figure 4.8a.
///
/// # Errors
/// Errors of sockets, of the agent's process, and of the flows.
pub(super) fn flows(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let mut lines = ["in the datapath", "by an agent"].map(line);
    for flows in FLOWS {
        let name = format!("4.8a, {flows} flows over loopback, a report each 10 ms");
        let gigabits = compare(report, &name, flows, Duration::from_millis(10), Some(CLOSE), effort)?;
        extend(&mut lines, flows, gigabits);
    }
    let panel = Panel { name: "Throughput (Gbit/s)", series: lines.into(), mark: None };
    let title = "Flows over the loopback interface (thesis, figure 4.8a)";
    report.draw("congestion-flows.svg", over("Flows", title, &[panel]))
}

/// Returns an empty line of a drawing.
fn line(label: &str) -> Series {
    Series { label: label.to_owned(), points: Vec::new() }
}

/// Adds a value of each line at a number of flows.
fn extend<const N: usize>(lines: &mut [Series; N], flows: usize, values: [f64; N]) {
    for (line, value) in lines.iter_mut().zip(values) {
        line.points.push((flows as f64, value));
    }
}

/// Returns the median of a number of some runs.
fn middle(samples: &[Carried], number: fn(&Carried) -> f64) -> f64 {
    median(&samples.iter().map(number).collect::<Vec<_>>()).unwrap_or(f64::NAN)
}

/// The rate of all flows of figure 4.8b together, in bytes per second: half a gigabit per second.
const RATE: f64 = 62.5e6;

/// Budget of the rate that arrives, against the rate that is offered.
const CARRIED: Budget = Budget::Between(0.95, 1.05);

/// Budget of the processor time under an agent, of both processes, against the datapath's control. The thesis has 2.0 from 16 to
/// 64 flows; an agent that costs less than nothing was not counted.
const COSTS: Budget = Budget::Between(0.95, 2.0);

/// Measures the rows of figure 4.8b.
///
/// # Errors
/// Errors of sockets, of the agent's process, and of the flows.
pub(super) fn processor(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let counted = effort.pick(Duration::from_secs(1), Duration::from_millis(300));
    let mut lines = ["in the datapath", "by an agent, Unix socket", "by an agent, shared memory"].map(line);
    for flows in FLOWS {
        let mut used = [f64::NAN; 3];
        for (at, (label, way)) in
            [("a Unix socket", Way::Socket), ("shared memory", Way::Memory)].into_iter().enumerate()
        {
            let agent = AgentProcess::start(Duration::from_millis(10))?;
            let transfer = Transfer { flows, counted, offered: Some(RATE) };
            let by_agent = || {
                let ccp = agent.control(way)?;
                transfer.run(
                    ccp.clone(),
                    || flows.saturating_sub(ccp.statistics().by_agent),
                    || agent.processor(),
                )
            };
            let by_datapath = || transfer.run(NewReno, || 0, || Ok(Duration::ZERO));
            let paired = alternate(effort.pick(8, 2), by_datapath, by_agent)?;
            let name = format!("4.8b, {flows} flows at 0.5 Gbit/s, a report each 10 ms over {label}");
            let of_offered = |carried: &Carried| carried.rate / RATE;
            let slowest = paired.b().iter().map(of_offered).fold(f64::INFINITY, f64::min);
            report.bounded(format!("{name}: the least that arrives"), slowest, "of the offered", CARRIED);
            let percent = |carried: &Carried| carried.processor * 100.0;
            (used[0], used[at + 1]) = (middle(&paired.a(), percent), middle(&paired.b(), percent));
            report.median(format!("{name}: by the datapath"), &paired.a(), percent, "% of a processor");
            report.median(format!("{name}: by the agent"), &paired.b(), percent, "% of a processor");
            let name = format!("{name}: processor time by the agent to the datapath's");
            report.compare(&name, &paired, |carried| carried.processor, Some(COSTS));
        }
        extend(&mut lines, flows, used);
    }
    let panel = Panel { name: "Processor time (% of a core)", series: lines.into(), mark: None };
    let title = "Flows at 0.5 Gbit/s together (thesis, figure 4.8b)";
    report.draw("congestion-processor.svg", over("Flows", title, &[panel]))
}

/// Compares flows by an agent with flows in the datapath, and returns the gigabits per second of the datapath's and of the
/// agent's.
fn compare(
    report: &mut Report,
    name: &str,
    flows: usize,
    period: Duration,
    budget: Option<Budget>,
    effort: Effort,
) -> Result<[f64; 2], Error> {
    let agent = AgentProcess::start(period)?;
    let counted = effort.pick(Duration::from_secs(1), Duration::from_millis(300));
    let transfer = Transfer { flows, counted, offered: None };
    let none = || Ok(Duration::ZERO);
    let by_agent = || {
        let ccp = agent.control(Way::Socket)?;
        transfer.run(ccp.clone(), || flows.saturating_sub(ccp.statistics().by_agent), none)
    };
    let paired = alternate(effort.pick(8, 2), || transfer.run(NewReno, || 0, none), by_agent)?;
    let gigabits = |carried: &Carried| carried.rate * 8.0 / 1e9;
    report.median(format!("{name}: by the datapath"), &paired.a(), gigabits, "Gbit/s");
    report.median(format!("{name}: by the agent"), &paired.b(), gigabits, "Gbit/s");
    report.compare(
        &format!("{name}: throughput by the agent to the datapath's"),
        &paired,
        |carried| carried.rate,
        budget,
    );
    Ok([middle(&paired.a(), gigabits), middle(&paired.b(), gigabits)])
}
