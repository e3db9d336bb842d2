//! Figures 4.4 and 4.5: Cubic and NewReno in the datapath, and the same by an agent.

use super::control::Control;
use super::flows::{Course, History, PACKET, path};
use crate::Error;
use crate::harness::{Effort, percentile};
use crate::report::{Budget, Report};
use bertha_datapath_sim::{Path, Rate};
use bertha_ycsb::plot::{Panel, Series, over_time};
use std::time::Duration;

const PERIOD: Duration = Duration::from_millis(20);

/// How far medians may be apart.
const AT_LEAST: Budget = Budget::AtLeast(0.95);
const AT_MOST: Budget = Budget::AtMost(1.05);

const PAIRS: [(Control, Control); 2] =
    [(Control::NewReno, Control::CcpNewReno), (Control::Cubic, Control::CcpCubic)];

/// The paths of the thesis; those of one seed are the same for all controls.
fn scenarios(seed: u64) -> [(&'static str, Path); 3] {
    let fixed = path(96.0, 20);
    let cell = Path::new(Rate::cellular(1_500_000, seed), PERIOD / 2);
    let drop = Path { loss: 0.000_1, buffer: u64::MAX, ..path(96.0, 20) };
    [("fixed", fixed), ("cell", Path { buffer: 100 * PACKET as u64, ..cell }), ("drop", drop)]
}

/// Measures.
///
/// # Errors
/// Those of the simulation and of the figure.
pub(super) fn run(report: &mut Report, effort: Effort) -> Result<(), Error> {
    windows(report)?;
    let (seeds, seconds) = effort.pick((3, 20), (1, 10));
    for scenario in 0..3 {
        for (datapath, agent) in PAIRS {
            let mut quantities = Vec::new();
            let mut name = "";
            for control in [datapath, agent] {
                let (mut throughputs, mut delays) = (Vec::new(), Vec::new());
                for seed in 1..=seeds {
                    let (scenario, path) = scenarios(seed)[scenario].clone();
                    name = scenario;
                    let history = Course::alone(path, seconds, PERIOD, seed).run(control)?;
                    // Slow start fills an unlimited buffer, which then takes its time.
                    throughputs.extend_from_slice(late(&history.throughputs(0)));
                    delays.extend(history.delays());
                }
                for (of, values, unit) in [("throughput", &throughputs, "Mbit/s"), ("queue", &delays, "ms")] {
                    for (label, part) in
                        [("25th percentile", 0.25), ("median", 0.5), ("75th percentile", 0.75)]
                    {
                        let value = percentile(values, part).unwrap_or(f64::NAN);
                        report.figure(format!("4.5, {name}: {control}, {of} in 20 ms, {label}"), value, unit);
                    }
                }
                quantities.push([throughputs, delays].map(|it| percentile(&it, 0.5).unwrap_or(f64::NAN)));
            }
            for (at, of) in ["throughput", "queue"].into_iter().enumerate() {
                let ratio = quantities[1][at] / quantities[0][at];
                let name = format!("4.5, {name}: {agent} to {datapath}, median {of}");
                report.bounded(name, ratio, "x", if ratio < 1.0 { AT_LEAST } else { AT_MOST });
            }
        }
    }
    Ok(())
}

fn late(values: &[f64]) -> &[f64] {
    &values[values.len() / 5..]
}

/// Figure 4.4.
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
