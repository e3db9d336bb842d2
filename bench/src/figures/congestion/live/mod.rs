//! Table 4.1 and figure 4.8a in real time: flows of `Reliable` over the loopback interface, controlled by
//! NewReno in the datapath, and by NewReno of an agent in another process, over a Unix socket.

mod agent;
mod transfer;

pub(crate) use agent::serve;

use crate::Error;
use crate::harness::{Effort, alternate};
use crate::report::{Budget, Report};
use agent::AgentProcess;
use bertha_chunnels::congestion::NewReno;
use std::time::Duration;
use transfer::Transfer;

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
const CLOSE: Budget = Budget::AtLeast(0.95);

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
    for flows in FLOWS {
        let name = format!("4.8a, {flows} flows over loopback, a report each 10 ms");
        compare(report, &name, flows, Duration::from_millis(10), Some(CLOSE), effort)?;
    }
    Ok(())
}

fn compare(
    report: &mut Report,
    name: &str,
    flows: usize,
    period: Duration,
    budget: Option<Budget>,
    effort: Effort,
) -> Result<(), Error> {
    let agent = AgentProcess::start(period)?;
    let transfer =
        Transfer { flows, counted: effort.pick(Duration::from_secs(1), Duration::from_millis(300)) };
    let by_agent = || {
        let ccp = agent.control()?;
        transfer.run(ccp.clone(), || ccp.statistics().by_agent == flows)
    };
    let paired = alternate(effort.pick(8, 2), || transfer.run(NewReno, || true), by_agent)?;
    report.median(format!("{name}: by the datapath"), &paired.a(), |rate| rate * 8.0 / 1e9, "Gbit/s");
    report.median(format!("{name}: by the agent"), &paired.b(), |rate| rate * 8.0 / 1e9, "Gbit/s");
    report.compare(
        &format!("{name}: throughput by the agent to the datapath's"),
        &paired,
        |rate| *rate,
        budget,
    );
    Ok(())
}
