//! The program `bertha-bench windows`: congestion windows over time, of a single flow that always has
//! data to send, over a simulated link with a queue of a bandwidth-delay product.
//!
//! The links are the links of the thesis, chapter 4. Time is virtual and chance comes from a seed, so every
//! run gives equal results on every machine.

mod link;
mod trace;

use crate::Error;
use crate::harness::Effort;
use crate::report::{Budget, Report};
use bertha_ycsb::plot::{Panel, Series, over_time};
use link::{LINKS, Link};
use trace::{ALGORITHMS, PACKET, Sample, Trace, follow};

/// Seed of chance.
const SEED: u64 = 1;

/// Budget of BBR's share of the link, for any chance.
const BBR_USES: Budget = Budget::AtLeast(0.9);

/// Budget of BBR's queue against Cubic's.
const BBR_QUEUES: Budget = Budget::AtMost(0.5);

/// Measures the rows.
///
/// # Errors
/// [`ErrorKind::Report`](crate::ErrorKind::Report) when a figure can't be written.
pub(crate) fn run(effort: Effort) -> Result<Report, Error> {
    let mut report = Report::new("windows");
    for link in &LINKS[..effort.pick(LINKS.len(), 2)] {
        let mut traces = Vec::new();
        for (name, stack) in ALGORITHMS {
            traces.push((name, follow(stack(), *link, SEED)?));
        }
        describe(&mut report, *link, &traces);
        report.draw(&format!("windows-{}.svg", link.slug()), draw(*link, &traces))?;
    }
    Ok(report)
}

fn describe(report: &mut Report, link: Link, traces: &[(&str, Trace)]) {
    let milliseconds = |trace: &Trace| trace.queueing().as_secs_f64() * 1e3;
    for (name, trace) in traces {
        let used = format!("{link}: {name} uses");
        if *name == "BBR" {
            report.bounded(used, trace.utilisation, "of the link", BBR_USES);
        } else {
            report.figure(used, trace.utilisation, "of the link");
        }
        report.figure(format!("{link}: {name} queues"), milliseconds(trace), "ms");
    }
    // If chance keeps Cubic from filling the queue, there is no queue to halve.
    if let ([_, (_, cubic), (_, bbr)], true) = (traces, link.loss == 0.0) {
        let share = milliseconds(bbr) / milliseconds(cubic);
        report.bounded(format!("{link}: BBR's queue against Cubic's"), share, "x", BBR_QUEUES);
    }
}

/// Draws the window over time above, with the link's bandwidth-delay product, and the delay in the queue
/// below.
fn draw(link: Link, traces: &[(&str, Trace)]) -> Result<String, bertha_ycsb::plot::PlotError> {
    let series = |value: fn(&Sample) -> f64| {
        let series = traces.iter().map(move |(name, trace)| Series {
            label: (*name).into(),
            points: trace.samples.iter().map(|it| (it.at.as_secs_f64(), value(it))).collect(),
        });
        series.collect::<Vec<_>>()
    };
    let product = Some(link.product() / PACKET as f64);
    let window = Panel { name: "Window (packets)", series: series(|it| it.window), mark: product };
    let delay = series(|it| it.queueing.as_secs_f64() * 1e3);
    let queue = Panel { name: "Queue (ms)", series: delay, mark: None };
    over_time(&format!("Congestion window over time: {link}"), &[window, queue])
}
