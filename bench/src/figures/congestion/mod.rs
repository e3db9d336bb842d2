//! The program `bertha-bench congestion`: the figures of the thesis, chapter 4, and the use and sharing of a
//! link by congestion controls.
//!
//! Flows of `Reliable` run over emulated paths in virtual time, with an agent in lockstep, so every run gives
//! equal results on every machine. In real time run flows under an agent in another process (table 4.1,
//! figures 4.8a and 4.8b), the round trip of an agent (figure 4.7), libccp's windows in figure 4.11, and flows between
//! network namespaces: Linux's TCP beside the table of sharing, requests through Bundler's boxes, and bad paths. Where the thesis has Linux in the place of the datapath, the figures have Bertha's own controls.

mod acknowledgement;
mod agent;
mod aggregation;
mod bad_paths;
mod bbr;
mod bundler;
mod compiled;
mod completion;
mod control;
mod copa;
#[cfg(feature = "quic")]
mod datapaths;
mod fidelity;
mod flows;
mod incast;
#[cfg(feature = "tcp")]
mod kernel_tcp;
mod learning;
mod live;
mod many;
mod shaped;
mod sharing;
mod slow_start;
mod trace;

use crate::Error;
use crate::harness::Effort;
use crate::report::Report;
use clap::Args;
use std::path::PathBuf;

pub(crate) use live::serve as serve_as_agent;

/// The figures to measure.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Measure this figure or table alone: 4.1, 4.1t, 4.2, 4.3, 4.3t, 4.5, 4.6, 4.7, 4.8, 4.8a, 4.8b, 4.9, 4.10, 4.11, 4.12, 4.14, 4.17, 4.19, 4.19n, sharing or bad-paths
    #[arg(long)]
    only: Option<String>,
    /// Measure figure 4.5 also over this trace of a link, in the format of Mahimahi
    #[arg(long)]
    trace: Option<PathBuf>,
}

/// Measures the rows.
///
/// # Errors
/// Errors of the simulations, of the instruction counter, of sockets, of figures and of the trace.
pub(crate) fn run(options: &Options, effort: Effort) -> Result<Report, Error> {
    let mut report = Report::new("congestion");
    let is_wanted = |name: &str| options.only.as_deref().is_none_or(|only| only == name);
    type Part = fn(&mut Report, Effort) -> Result<(), Error>;
    let parts: Vec<(&str, Part)> = vec![
        ("4.1", live::reporting),
        #[cfg(feature = "tcp")]
        ("4.1t", kernel_tcp::reporting),
        ("4.2", bbr::run),
        ("4.3", |report, _| slow_start::run(report)),
        #[cfg(feature = "tcp")]
        ("4.3t", kernel_tcp::run),
        ("4.5", fidelity::run),
        ("4.6", completion::run),
        ("4.7", agent::run),
        ("4.7", live::latency),
        ("4.8", many::run),
        ("4.8a", live::flows),
        ("4.8b", live::processor),
        ("4.9", incast::run),
        ("4.10", |report, _| aggregation::run(report)),
        ("4.11", |report, _| copa::run(report)),
        #[cfg(feature = "quic")]
        ("4.11", |report, _| datapaths::run(report)),
        ("4.12", learning::run),
        ("4.14", bundler::queues),
        ("4.17", bundler::estimates),
        ("4.19", bundler::slowdown),
        ("4.19n", bundler::between_namespaces),
        ("sharing", sharing::run),
        ("bad-paths", bad_paths::run),
    ];
    for (_, part) in parts.into_iter().filter(|(name, _)| is_wanted(name)) {
        part(&mut report, effort)?;
    }
    if let Some(trace) = options.trace.as_ref().filter(|_| is_wanted("4.5")) {
        fidelity::over_trace(&mut report, trace, effort)?;
    }
    Ok(report)
}

/// Runs the probe with this name.
pub(crate) fn probe(name: &str, iterations: u64) -> Option<Result<(), Error>> {
    acknowledgement::probe(name, iterations)
}

#[cfg(test)]
mod tests {
    use super::control::Control;
    use super::flows::{Course, Flow, path};
    use std::time::Duration;

    #[test]
    fn flows_fill_their_path_and_the_same_seed_gives_the_same() {
        let alone = Course::alone(path(12.0, 20), 5, Duration::from_millis(100), 3);
        let course = Course { flows: vec![Flow::default(); 2], ..alone };
        for control in [Control::Cubic, Control::CcpCubic] {
            let history = course.run(control).unwrap();
            let used = history.utilisation(1.5e6);
            assert!((0.9..1.02).contains(&used), "{control} uses {used}");
            assert_eq!(history, course.run(control).unwrap(), "{control}");
        }
    }
}
