//! Figure 4.10: five flows of twenty seconds, each begun ten seconds after the previous flow, alone and under
//! a common window.

use super::control::Control;
use super::flows::{Course, Flow, History, mean, path};
use crate::Error;
use crate::report::{Budget, Report};
use bertha_plot::{Panel, Series, over_time};
use std::time::Duration;

const FLOWS: u32 = 5;
const LASTS: Duration = Duration::from_secs(20);
const STAGGER: Duration = Duration::from_secs(10);

const PERIOD: Duration = Duration::from_millis(100);

const MEGABITS: f64 = 48.0;

/// Budget of the share of the link that arrives.
const USES: Budget = Budget::Between(0.9, 1.01);

/// Budget in seconds until a new flow has its part: a round trip is at most 0.08.
const JOINS: Budget = Budget::AtMost(0.5);

/// Budget in seconds for flows with a window each, which have to find their part.
const FINDS: Budget = Budget::Between(0.5, 10.0);

/// Largest distance of a flow from its part of the link at which it counts as having it.
const NEAR: f64 = 0.2;

/// Measures the rows.
///
/// # Errors
/// Errors of the simulation and of the figure.
pub(super) fn run(report: &mut Report) -> Result<(), Error> {
    let path = path(MEGABITS, 40);
    let flow = |number| Flow { start: STAGGER * number, lasts: Some(LASTS), ..Flow::default() };
    let seconds = (STAGGER * (FLOWS - 1) + LASTS).as_secs();
    let alone = Course::alone(path, seconds, PERIOD, 1);
    let course = Course { flows: (0..FLOWS).map(flow).collect(), shares_host: true, ..alone };
    let mut panels = Vec::new();
    for (name, control) in [
        ("One window for all: window (packets)", Control::CcpShared),
        ("A window each: window (packets)", Control::CcpNewReno),
    ] {
        let history = course.run(control)?;
        let used: f64 = (0..FLOWS).map(|flow| mean(&history.throughputs(flow as usize))).sum();
        report.bounded(format!("4.10, {control}: uses"), used / MEGABITS, "of the link", USES);
        report.figure(format!("4.10, {control}: queues"), mean(&history.delays()), "ms");
        let joining: Vec<f64> = (1..FLOWS).map(|flow| until_part(&history, flow as usize)).collect();
        let name_of = format!("4.10, {control}: time until a new flow has its part");
        match control {
            Control::CcpShared => report.bounded(name_of, mean(&joining), "s", JOINS),
            _ => report.bounded(name_of, mean(&joining), "s", FINDS),
        }
        let series = (0..FLOWS as usize)
            .map(|flow| Series { label: format!("flow {}", flow + 1), points: windows(&history, flow) });
        panels.push(Panel { name, series: series.collect(), mark: None });
    }
    let title = "Five flows of 20 s: 48 Mbit/s, 40 ms (thesis, figure 4.10)";
    report.draw("congestion-aggregation.svg", over_time(title, &panels))
}

/// Returns the windows of a flow while it sends.
fn windows(history: &History, flow: usize) -> Vec<(f64, f64)> {
    let samples = history.flows[flow].iter().enumerate();
    samples.filter(|(_, it)| it.window > 0.0).map(|(at, it)| (history.at(at), it.window)).collect()
}

/// Returns the seconds from the start of a flow until its mean over a second is its part of the link, which
/// it shares with one other flow; the whole time of the two if this never happens.
fn until_part(history: &History, flow: usize) -> f64 {
    let rates = history.throughputs(flow);
    let in_period = |time: Duration| (time.as_nanos() / PERIOD.as_nanos()) as usize;
    let start = in_period(STAGGER * flow as u32);
    let part = MEGABITS / 2.0;
    let is_near = |at: &usize| {
        let rate = mean(&rates[*at..*at + in_period(Duration::from_secs(1))]);
        (rate / part - 1.0).abs() <= NEAR
    };
    let end = start + in_period(STAGGER);
    let near = (start..end - in_period(Duration::from_secs(1))).find(is_near).unwrap_or(end);
    (near - start) as f64 * PERIOD.as_secs_f64()
}
