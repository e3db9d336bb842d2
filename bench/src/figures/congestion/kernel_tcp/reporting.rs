//! Table 4.1 as in the thesis: a flow of Linux's TCP over the loopback interface, by the kernel's Reno and by Reno of an agent in another process, by the
//! time between its reports.

use super::loopback::{Times, carried};
use super::obedience::Obedience;
use crate::figures::congestion::live::{AgentProcess, Way};
use crate::harness::{Effort, alternate};
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use bertha_ccp::Limits;
use bertha_ccp_tcp::TcpControl;
use std::time::Duration;

/// The name of the agent's control in the kernel.
const NAME: &str = "bertha_reno";

/// The times between reports, of which zero is a report for each acknowledgement, with budgets of the throughput against the
/// kernel's own around those of the thesis: 29 and 41 of 43 Gbit/s.
const PERIODS: [(&str, Duration, Option<Budget>); 4] = [
    ("each acknowledgement", Duration::ZERO, Some(Budget::Between(0.5, 0.85))),
    ("each 0.1 ms", Duration::from_micros(100), None),
    ("each 1 ms", Duration::from_millis(1), None),
    ("each 10 ms", Duration::from_millis(10), Some(Budget::Between(0.85, 1.15))),
];

/// Measures the rows.
///
/// # Errors
/// Errors of the kernel, of the agent's process, and of the flows.
pub(in super::super) fn run(report: &mut Report, effort: Effort) -> Result<(), Error> {
    if !rustix::process::geteuid().is_root() {
        report.skip("4.1t, the kernel's TCP by reporting interval", "it needs root");
        return Ok(());
    }
    let times = Times {
        warm_up: Duration::from_millis(500),
        counted: effort.pick(Duration::from_secs(1), Duration::from_millis(300)),
    };
    for (label, period, budget) in PERIODS {
        let agent = AgentProcess::start(period)?;
        let ccp = agent.control(Way::Socket)?;
        let control = TcpControl::register(NAME, ccp.clone(), Limits::NONE);
        let control =
            control.map_err(Error::while_doing(ErrorKind::Bertha, "registering with the kernel"))?;
        let by_kernel = || carried("reno", times, || (), Ok);
        let by_agent = || {
            let check = |obedience: Obedience<'_>| match ccp.statistics().by_agent {
                0 => Err(Error::new(ErrorKind::Stalled, "the agent does not control the kernel's flow")),
                _ => obedience.check(),
            };
            carried(NAME, times, || Obedience::of(&control), check)
        };
        let paired = alternate(effort.pick(8, 2), by_kernel, by_agent)?;
        let name = format!("4.1t, TCP over loopback, a report {label}");
        let gigabits = |rate: &f64| rate * 8.0 / 1e9;
        report.median(format!("{name}: by the kernel's Reno"), &paired.a(), gigabits, "Gbit/s");
        report.median(format!("{name}: by the agent"), &paired.b(), gigabits, "Gbit/s");
        let name = format!("{name}: throughput by the agent to the kernel's");
        report.compare(&name, &paired, |rate| *rate, budget);
    }
    Ok(())
}
