//! Figures 4.4 and 4.5: Cubic and NewReno in the datapath, and by an agent.

use super::control::Control;
use super::flows::{Course, History, PACKET, path};
use super::trace;
use crate::harness::{Effort, percentile};
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use bertha_datapath_sim::{Path, Rate};
use bertha_plot::{Panel, Series, Spread, bit_rate_spreads, over_time, spreads};
use std::time::Duration;

const PERIOD: Duration = Duration::from_millis(20);

/// Budget of the distance between medians.
const NEAR: Budget = Budget::Between(0.95, 1.05);

const PAIRS: [(Control, Control); 2] =
    [(Control::NewReno, Control::CcpNewReno), (Control::Cubic, Control::CcpCubic)];

/// A path on which controls are compared; the paths of a seed are equal for all controls.
struct Scenario<'a> {
    name: &'static str,
    path: &'a (dyn Fn(u64) -> Path + Sync),
}

/// Returns a link with a buffer of 100 packets, as in the thesis.
fn cell(rate: Rate) -> Path {
    Path { buffer: 100 * PACKET as u64, ..Path::new(rate, PERIOD / 2) }
}

/// Measures the rows.
///
/// # Errors
/// Errors of the simulation and of the figure.
pub(super) fn run(report: &mut Report, effort: Effort) -> Result<(), Error> {
    windows(report)?;
    let mut drawing = Drawing::default();
    for scenario in [
        Scenario { name: "fixed", path: &|_| path(96.0, 20) },
        Scenario { name: "cell", path: &|seed| cell(Rate::cellular(1_500_000, seed)) },
        Scenario { name: "drop", path: &|_| Path { loss: 0.000_1, buffer: u64::MAX, ..path(96.0, 20) } },
    ] {
        compare(report, &scenario, effort, &mut drawing)?;
    }
    drawing.draw(report)
}

/// The distributions of figure 4.5.
#[derive(Default)]
struct Drawing {
    throughputs: Vec<Spread>,
    queues: Vec<Spread>,
}

impl Drawing {
    fn add(&mut self, name: &str, throughputs: &[f64], delays: &[f64]) {
        // The axes are logarithmic, and have no place for an empty queue or an idle link.
        let micros: Vec<_> = delays.iter().map(|ms| (ms * 1e3).max(10.0)).collect();
        let throughputs: Vec<_> = throughputs.iter().map(|rate| rate.max(1.0)).collect();
        self.throughputs.extend(Spread::of(name, &throughputs));
        self.queues.extend(Spread::of(name, &micros));
    }

    fn draw(self, report: &mut Report) -> Result<(), Error> {
        let title = "Throughput in 20 ms (thesis, figure 4.5a)";
        report.draw("congestion-fidelity-throughput.svg", bit_rate_spreads(title, &self.throughputs))?;
        let title = "Delay in the queue (thesis, figure 4.5b)";
        report.draw("congestion-fidelity-queue.svg", spreads(title, &self.queues))
    }
}

/// Measures over a link whose rate is in a file.
///
/// # Errors
/// Errors of the trace and of the simulation.
pub(super) fn over_trace(report: &mut Report, file: &std::path::Path, effort: Effort) -> Result<(), Error> {
    let rate = trace::read(file)?;
    let scenario = Scenario { name: "trace", path: &|_| cell(rate.clone()) };
    compare(report, &scenario, effort, &mut Drawing::default())
}

fn compare(
    report: &mut Report,
    scenario: &Scenario<'_>,
    effort: Effort,
    drawing: &mut Drawing,
) -> Result<(), Error> {
    let name = scenario.name;
    for (datapath, agent) in PAIRS {
        let mut quantities = Vec::new();
        for control in [datapath, agent] {
            let mut throughputs = Vec::new();
            let mut delays = Vec::new();
            for history in histories(scenario, control, effort)? {
                // Slow start fills an unlimited buffer, which then takes long to empty.
                throughputs.extend_from_slice(late(&history.throughputs(0)));
                delays.extend(late(&history.queueing).iter().map(|delay| delay.as_secs_f64() * 1e3));
            }
            for (of, values, unit) in [("throughput", &throughputs, "Mbit/s"), ("queue", &delays, "ms")] {
                for (label, part) in [("25th percentile", 0.25), ("median", 0.5), ("75th percentile", 0.75)] {
                    let value = percentile(values, part).unwrap_or(f64::NAN);
                    report.figure(format!("4.5, {name}: {control}, {of} in 20 ms, {label}"), value, unit);
                }
            }
            drawing.add(&format!("{name}: {control}"), &throughputs, &delays);
            quantities.push([throughputs, delays].map(|it| percentile(&it, 0.5).unwrap_or(f64::NAN)));
        }
        for (at, of) in ["throughput", "queue"].into_iter().enumerate() {
            let ratio = quantities[1][at] / quantities[0][at];
            let name = format!("4.5, {name}: {agent} to {datapath}, median {of}");
            report.bounded(name, ratio, "x", NEAR);
        }
    }
    Ok(())
}

/// Returns the courses of all seeds, which run at once.
fn histories(scenario: &Scenario<'_>, control: Control, effort: Effort) -> Result<Vec<History>, Error> {
    let (seeds, seconds) = effort.pick((8, 60), (1, 15));
    let run = |seed| Course::alone((scenario.path)(seed), seconds, PERIOD, seed).run(control);
    let run = &run;
    std::thread::scope(|scope| {
        let running: Vec<_> = (1..=seeds).map(|seed| scope.spawn(move || run(seed))).collect();
        let panicked = |_| Error::new(ErrorKind::Core, format!("a flow of {control} panicked"));
        running.into_iter().map(|course| course.join().map_err(panicked)?).collect()
    })
}

fn late<T>(values: &[T]) -> &[T] {
    &values[values.len() / 3..]
}

/// Draws Figure 4.4.
fn windows(report: &mut Report) -> Result<(), Error> {
    let course = Course::alone(path(96.0, 20), 15, PERIOD, 1);
    let series = |control: Control| -> Result<(Series, History), Error> {
        let history = course.run(control)?;
        let samples = history.flows[0].iter().enumerate();
        let points = samples.map(|(at, sample)| (history.at(at), sample.window)).collect();
        Ok((Series { label: control.to_string(), points }, history))
    };
    let mut panels = Vec::new();
    for (name, (datapath, agent)) in
        ["NewReno: window (packets)", "Cubic: window (packets)"].into_iter().zip(PAIRS)
    {
        let series = [series(datapath)?.0, series(agent)?.0].to_vec();
        panels.push(Panel { name, series, mark: Some(course.path.product() / PACKET as f64) });
    }
    let title = "Windows in the datapath and by CCP: 96 Mbit/s, 20 ms (thesis, figure 4.4)";
    report.draw("congestion-fidelity.svg", over_time(title, &panels))
}
