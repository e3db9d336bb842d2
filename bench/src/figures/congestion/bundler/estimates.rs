//! Figures 4.17 and 4.18: the receive rate and the round trip that a sendbox computes, beside those of the path
//! at the same time, over three delays and three rates.

use super::super::completion::arrivals;
use super::super::flows::{SERVER, host, path};
use super::{Boxes, LOAD, SIZES, requests};
use crate::Error;
use crate::harness::{Effort, percentile};
use crate::report::{Budget, Report};
use bertha_bundle::Scheduling;
use bertha_datapath_sim::{Network, Path};
use bertha_plot::{Panel, Series, Spread, over_time, spreads};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

const ROUND_TRIPS_MS: [u64; 3] = [20, 50, 100];
const MEGABITS: [f64; 3] = [24.0, 48.0, 96.0];

/// Mean size of requests in bytes, about.
const MEAN: f64 = 6_400.0;

/// The share of differences that the thesis gives: 80 % within 1.2 ms and 4 Mbit/s.
const SHARE: f64 = 0.8;

/// The samples of a path, one per millisecond.
type Samples = Arc<Mutex<Vec<Sample>>>;

#[derive(Debug, Clone, Copy)]
struct Sample {
    /// Number of bytes that have arrived.
    received: u64,
    /// The delay in the path's queue, in milliseconds.
    queue: f64,
    /// The last estimates, in milliseconds and bytes per second.
    estimate: Option<(f64, f64)>,
}

/// The estimate and the truth at a time.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// In seconds.
    at: f64,
    /// In milliseconds.
    round_trip: [f64; 2],
    /// In megabits per second.
    rate: [f64; 2],
}

/// Measures the rows.
///
/// # Errors
/// Errors of the simulation and of the figure.
pub(in super::super) fn run(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let seconds = effort.pick(20.0, 6.0);
    let (mut round_trips, mut rates, mut boxes) = (Vec::new(), Vec::new(), Vec::new());
    for (number, (megabits, ms)) in
        MEGABITS.iter().flat_map(|rate| ROUND_TRIPS_MS.map(|ms| (*rate, ms))).enumerate()
    {
        let path = path(megabits, ms).buffered(2.0);
        let steps = steps(&path, ms, seconds, number as u64 + 1)?;
        let of = |values: fn(&Step) -> [f64; 2]| {
            let difference = |step: &Step| (values(step)[0] - values(step)[1]).abs();
            steps.iter().map(difference).collect::<Vec<_>>()
        };
        let [in_ms, in_megabits] = [of(|step| step.round_trip), of(|step| step.rate)];
        let name = format!("{megabits} Mbit/s, {ms} ms");
        let part = |values: &[f64]| percentile(values, SHARE).unwrap_or(f64::NAN);
        report.figure(format!("4.18, {name}: 80 % of estimates within"), part(&in_ms), "ms");
        report.figure(format!("4.17, {name}: 80 % of estimates within"), part(&in_megabits), "Mbit/s");
        let micros: Vec<_> = in_ms.iter().map(|ms| ms * 1e3).collect();
        boxes.extend(Spread::of(&name, &micros));
        round_trips.extend(in_ms);
        rates.extend(in_megabits);
        if (megabits, ms) == (96.0, 50) {
            draw(report, &steps)?;
        }
    }
    let within = |values: &[f64], limit: f64| {
        values.iter().filter(|value| **value <= limit).count() as f64 / values.len().max(1) as f64
    };
    // More would mean that the estimate was compared with itself: epochs make it late by some milliseconds.
    let budget = Budget::Between(SHARE, 0.99);
    report.bounded("4.18, all paths: estimates within 1.2 ms", within(&round_trips, 1.2), "of all", budget);
    report.bounded("4.17, all paths: estimates within 4 Mbit/s", within(&rates, 4.0), "of all", budget);
    let title = "Distance of estimated round trips from the path's (thesis, figure 4.18)";
    report.draw("congestion-bundler-round-trips.svg", spreads(title, &boxes))
}

/// Draws five seconds of a path.
fn draw(report: &mut Report, steps: &[Step]) -> Result<(), Error> {
    let first = steps.first().map_or(0.0, |step| step.at);
    let panel = |name, values: fn(&Step) -> [f64; 2]| {
        let series = ["estimate of the sendbox", "path"].into_iter().enumerate().map(|(at, label)| {
            let shown = steps.iter().filter(|step| step.at < first + 5.0);
            let points = shown.map(|step| (step.at - first, values(step)[at])).collect();
            Series { label: label.to_owned(), points }
        });
        Panel { name, series: series.collect(), mark: None }
    };
    let panels =
        [panel("Receive rate (Mbit/s)", |step| step.rate), panel("Round trip (ms)", |step| step.round_trip)];
    let title = "Estimates of a sendbox: 96 Mbit/s, 50 ms (thesis, figures 4.17 and 4.18)";
    report.draw("congestion-bundler.svg", over_time(title, &panels))
}

/// Runs requests through a path, and compares each ten milliseconds.
fn steps(path: &Path, ms: u64, seconds: f64, seed: u64) -> Result<Vec<Step>, Error> {
    let rate = LOAD * path.rate.mean();
    let requests = arrivals(SIZES, (seconds * rate / MEAN) as usize, rate, seed);
    let last = requests.last().map_or(0, |last| last.at.as_millis() as usize);
    let samples = Samples::default();
    let bundler = Boxes::Bundler(Scheduling::FairAmongFlows);
    requests::run(path, &bundler, &requests, |network| watch(network, samples.clone()))?;
    let samples = samples.lock().unwrap_or_else(PoisonError::into_inner);
    let back = ms as usize / 2;
    let steps =
        (last / 5..last.min(samples.len())).step_by(10).filter_map(|at| compare(&samples, ms, back, at));
    Ok(steps.collect())
}

/// Returns the estimate at a millisecond, and what a box in the path's queue would have told the sendbox by
/// then.
fn compare(samples: &[Sample], ms: u64, back: usize, at: usize) -> Option<Step> {
    let (round_trip, rate) = samples.get(at)?.estimate?;
    // The last packet that may be acknowledged by then entered the queue so long before.
    let is_acknowledged = |entered: &usize| {
        samples.get(*entered).is_some_and(|sample| *entered as f64 + sample.queue + ms as f64 <= at as f64)
    };
    let entered = (0..at).rev().find(is_acknowledged)?;
    let truth = samples[entered].queue + ms as f64;
    let arrived = at.checked_sub(back)?;
    let period = truth.round() as usize;
    let bytes = samples[arrived].received - samples.get(arrived.checked_sub(period)?)?.received;
    Some(Step {
        at: at as f64 * 1e-3,
        round_trip: [round_trip, truth],
        rate: [rate * 8e-6, bytes as f64 * 8e-3 / period as f64],
    })
}

async fn watch(network: Network, samples: Samples) {
    let runtime = network.runtime().clone();
    loop {
        let Some(state) = network.bundle_state(host(0), SERVER) else { return };
        let estimate = state.measured.map(|it| (it.round_trip.as_secs_f64() * 1e3, it.receiving));
        let queue = network.queueing_delay(host(0), SERVER).as_secs_f64() * 1e3;
        let sample = Sample { received: state.received, queue, estimate };
        samples.lock().unwrap_or_else(PoisonError::into_inner).push(sample);
        runtime.sleep(Duration::from_millis(1)).await;
    }
}
