//! Figure 4.14: the delays in the queues of the path and of the sendbox, for a single flow without and with Bundler.

use super::super::completion::Arrival;
use super::super::flows::{SERVER, host, mean, path};
use super::{Boxes, requests};
use crate::Error;
use crate::harness::Effort;
use crate::report::{Budget, Report};
use bertha_bundle::Scheduling;
use bertha_datapath_sim::Network;
use bertha_plot::{Panel, Series, over_time};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

const MEGABITS: f64 = 96.0;
const ROUND_TRIP_MS: u64 = 50;

/// Time between two samples.
const PERIOD: Duration = Duration::from_millis(20);

/// The part of the samples that is left out of means: the flow's slow start, and the sendbox's first estimates.
const BEGINNING: usize = 4;

/// Budgets with Bundler, against the path's queue without: its own queue is nearly empty, and the sendbox has what the flow
/// keeps waiting.
const PATH: Budget = Budget::Between(0.005, 0.25);
const SENDBOX: Budget = Budget::Between(0.5, 1.5);

/// Budget of the flow's time with Bundler, against without: the queue moves, and the link stays full.
const TIME: Budget = Budget::Between(0.98, 1.1);

/// Delays in milliseconds at a time in seconds.
#[derive(Debug, Clone, Copy)]
struct Sample {
    at: f64,
    path: f64,
    sendbox: f64,
}

/// A flow from its begin to its end.
struct Seen {
    samples: Vec<Sample>,
    took: Duration,
}

impl Seen {
    fn line(&self, label: &str, delay: fn(&Sample) -> f64) -> Series {
        let points = self.samples.iter().map(|sample| (sample.at, delay(sample))).collect();
        Series { label: label.to_owned(), points }
    }

    /// Returns the mean delay after the beginning.
    fn mean(&self, delay: fn(&Sample) -> f64) -> f64 {
        let late = &self.samples[self.samples.len() / BEGINNING..];
        mean(&late.iter().map(delay).collect::<Vec<_>>())
    }
}

/// Measures the rows.
///
/// # Errors
/// Errors of the simulation and of the figure.
pub(in super::super) fn run(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let seconds = effort.pick(30.0, 15.0);
    let without = observe(&Boxes::None, seconds)?;
    let bundled = observe(&Boxes::Bundler(Scheduling::FairAmongFlows), seconds)?;
    let [of_path, of_sendbox]: [fn(&Sample) -> f64; 2] = [|sample| sample.path, |sample| sample.sendbox];
    let mut panels = Vec::new();
    for (name, panel, seen) in [
        ("without Bundler", "Without Bundler: delay (ms)", &without),
        ("with Bundler", "With Bundler: delay (ms)", &bundled),
    ] {
        report.figure(format!("4.14, {name}: mean delay in the path's queue"), seen.mean(of_path), "ms");
        report.figure(format!("4.14, {name}: mean delay in the sendbox"), seen.mean(of_sendbox), "ms");
        let series = vec![seen.line("queue of the path", of_path), seen.line("sendbox", of_sendbox)];
        panels.push(Panel { name: panel, series, mark: None });
    }
    let before = without.mean(of_path);
    let ratio = |delay| bundled.mean(delay) / before;
    report.bounded("4.14, the path's queue, with Bundler to without", ratio(of_path), "x", PATH);
    report.bounded("4.14, the sendbox to the path's queue without Bundler", ratio(of_sendbox), "x", SENDBOX);
    let time = bundled.took.as_secs_f64() / without.took.as_secs_f64();
    report.bounded("4.14, the flow's time, with Bundler to without", time, "x", TIME);
    let title = "Queues of a flow of Cubic: 96 Mbit/s, 50 ms (thesis, figure 4.14)";
    report.draw("congestion-bundler-queues.svg", over_time(title, &panels))
}

/// Sends for about this number of seconds.
fn observe(boxes: &Boxes, seconds: f64) -> Result<Seen, Error> {
    let path = path(MEGABITS, ROUND_TRIP_MS).buffered(2.0);
    let bytes = (seconds * path.rate.mean()) as u64;
    let flow = Arrival { at: Duration::ZERO, bytes, connection: 0 };
    let samples = Arc::<Mutex<Vec<Sample>>>::default();
    let times = requests::run(&path, boxes, &[flow], |network| watch(network, Arc::clone(&samples)))?;
    let samples = std::mem::take(&mut *samples.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(Seen { samples, took: times.first().copied().unwrap_or_default() })
}

async fn watch(network: Network, samples: Arc<Mutex<Vec<Sample>>>) {
    let runtime = network.runtime().clone();
    loop {
        let millis = |delay: Duration| delay.as_secs_f64() * 1e3;
        let sample = Sample {
            at: runtime.elapsed().as_secs_f64(),
            path: millis(network.queueing_delay(host(0), SERVER)),
            sendbox: network.bundle_state(host(0), SERVER).map_or(0.0, |it| millis(it.queueing_delay)),
        };
        samples.lock().unwrap_or_else(PoisonError::into_inner).push(sample);
        runtime.sleep(PERIOD).await;
    }
}
