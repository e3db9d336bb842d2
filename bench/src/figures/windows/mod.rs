//! The program `bertha-bench windows`: congestion windows over time, of a single flow that always has
//! data to send, over a simulated link with a queue of a bandwidth-delay product.
//!
//! The links are the links of the thesis, chapter 4. Time is virtual and chance comes from a seed, so every
//! run gives equal results on every machine. The windows are those of the flow's qlog. With `--qlog`, the program draws
//! the qlogs of connections elsewhere instead.

mod link;
mod qlog;
mod trace;

use crate::Error;
use crate::harness::Effort;
use crate::report::{Budget, Report};
use bertha_plot::{Panel, PlotError, Series, over_time};
use clap::Args;
use link::{LINKS, Link, PACKET};
use qlog::{History, Measures};
use std::path::PathBuf;
use trace::{ALGORITHMS, Sample, Trace, follow};

/// Seed of chance.
const SEED: u64 = 1;

/// Budget of BBR's share of the link, for any chance.
const BBR_USES: Budget = Budget::AtLeast(0.9);

/// Budget of BBR's queue against Cubic's.
const BBR_QUEUES: Budget = Budget::AtMost(0.5);

/// The options of `bertha-bench windows`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Draw the window and the round-trip time of these files, which `Reliable` wrote, and simulate nothing
    #[arg(long, value_name = "FILE", num_args = 1..)]
    qlog: Vec<PathBuf>,
}

/// Measures the rows.
///
/// # Errors
/// [`ErrorKind::Report`](crate::ErrorKind::Report) when a figure can't be written, and [`ErrorKind::Trace`](crate::ErrorKind::Trace)
/// when a qlog can't be read.
pub(crate) fn run(options: &Options, effort: Effort) -> Result<Report, Error> {
    let mut report = Report::new(if options.qlog.is_empty() { "windows" } else { "windows-qlog" });
    if !options.qlog.is_empty() {
        let drawing = draw_files(&mut report, &options.qlog)?;
        report.draw("windows-qlog.svg", drawing)?;
        return Ok(report);
    }
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
fn draw(link: Link, traces: &[(&str, Trace)]) -> Result<String, PlotError> {
    let series = |value: fn(&Sample) -> f64| {
        let series = traces.iter().map(move |(name, trace)| Series {
            label: (*name).into(),
            points: trace.samples.iter().map(|it| (it.at.as_secs_f64(), value(it))).collect(),
        });
        series.collect::<Vec<_>>()
    };
    let product = Some(link.product() / PACKET as f64);
    let window = Panel { name: "Window (packets)", series: series(|it| it.logged), mark: product };
    let delay = series(|it| it.queueing.as_secs_f64() * 1e3);
    let queue = Panel { name: "Queue (ms)", series: delay, mark: None };
    over_time(&format!("Congestion window over time: {link}"), &[window, queue])
}

/// Draws the window and the round-trip time of files, and adds a row for each of them.
fn draw_files(report: &mut Report, files: &[PathBuf]) -> Result<Result<String, PlotError>, Error> {
    let mut histories = Vec::new();
    for file in files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let history = History::read(file)?;
        if let Some(last) = history.measures.last() {
            report.figure(format!("{name}: the last window"), history.in_packets(last), "packets");
        }
        histories.push((name, history));
    }
    let series = |value: fn(&History, &Measures) -> f64| {
        let series = histories.iter().map(move |(name, history)| Series {
            label: name.into(),
            points: history.measures.iter().map(|it| (it.at.as_secs_f64(), value(history, it))).collect(),
        });
        series.collect::<Vec<_>>()
    };
    let window = Panel { name: "Window (packets)", series: series(History::in_packets), mark: None };
    let rtt = Panel { name: "Round-trip time (ms)", series: series(|_, it| it.rtt), mark: None };
    Ok(over_time("Congestion window over time, by qlog", &[window, rtt]))
}
