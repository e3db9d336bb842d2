//! Figure 4.19: the slowdown of requests over 96 Mbit/s and 50 ms at seven eighths of the load: the time of each,
//! divided by its time through an unloaded path.

use super::super::completion::{Arrival, arrivals};
use super::super::flows::path;
use super::{Boxes, LOAD, SIZES, requests};
use crate::Error;
use crate::harness::{Effort, percentile};
use crate::report::{Budget, Report};
use bertha_bundle::Scheduling;
use bertha_datapath_sim::Path;
use bertha_plot::{Spread, ratio_spreads};
use std::time::Duration;

/// Time between two requests through the unloaded path: more than the largest takes.
const ALONE: Duration = Duration::from_secs(8);

/// The sizes at which the unloaded path is measured, in bytes.
const MEASURED: [u64; 18] = [
    1, 1_300, 5_000, 10_000, 14_000, 20_000, 30_000, 50_000, 80_000, 150_000, 300_000, 600_000, 1_000_000,
    2_000_000, 4_000_000, 8_000_000, 16_000_000, 30_000_000,
];

/// Measures the rows.
///
/// # Errors
/// Errors of the simulation and of the figure.
pub(in super::super) fn run(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let path = path(96.0, 50).buffered(2.0);
    let unloaded = Unloaded::measure(&path)?;
    let ways = [
        ("status quo", Boxes::None),
        ("fair in the network", Boxes::InNetwork),
        ("Bundler, fair", Boxes::Bundler(Scheduling::FairAmongFlows)),
        ("Bundler, in order", Boxes::Bundler(Scheduling::Fifo)),
    ];
    let mut medians = Vec::new();
    let mut tails = Vec::new();
    let mut boxes: [Vec<Spread>; 3] = Default::default();
    for (name, way) in &ways {
        let mut slowdowns = Vec::new();
        for seed in 1..=effort.pick(3, 1) {
            let requests = arrivals(SIZES, effort.pick(30_000, 10_000), LOAD * path.rate.mean(), seed);
            let times = requests::run(&path, way, &requests, |_| std::future::pending())?;
            let slowdown = |(request, took): (&Arrival, Duration)| {
                (request.bytes, took.as_secs_f64() / unloaded.seconds(request.bytes))
            };
            slowdowns.extend(requests.iter().zip(times).map(slowdown));
        }
        let of = |least: u64, most: u64| {
            let in_class = slowdowns.iter().filter(|(bytes, _)| (least..=most).contains(bytes));
            in_class.map(|(_, slowdown)| *slowdown).collect::<Vec<_>>()
        };
        let all = of(0, u64::MAX);
        let part = |part| percentile(&all, part).unwrap_or(f64::NAN);
        report.figure(format!("4.19, {name}: median slowdown of {}", all.len()), part(0.5), "x");
        report.figure(format!("4.19, {name}: 99th percentile of slowdowns"), part(0.99), "x");
        medians.push(part(0.5));
        tails.push(part(0.99));
        let classes = [
            ("up to 10 KB", of(0, 10_000)),
            ("up to 1 MB", of(10_001, 1_000_000)),
            ("larger", of(1_000_001, u64::MAX)),
        ];
        for (rows, (class, slowdowns)) in boxes.iter_mut().zip(classes) {
            let value = percentile(&slowdowns, 0.5).unwrap_or(f64::NAN);
            report.figure(format!("4.19, {name}: median slowdown, {class}"), value, "x");
            rows.extend(Spread::of(&format!("{class}: {name}"), &slowdowns));
        }
    }
    let [quo, network, fair, fifo] = medians[..] else { return Ok(()) };
    report.bounded("4.19, Bundler, fair, to status quo: median", fair / quo, "x", Budget::Between(0.5, 0.99));
    report.bounded(
        "4.19, fair in the network to Bundler, fair: median",
        network / fair,
        "x",
        Budget::Between(0.7, 1.0),
    );
    report.bounded(
        "4.19, Bundler, in order, to status quo: median",
        fifo / quo,
        "x",
        Budget::Between(1.0, 2.5),
    );
    report.bounded(
        "4.19, Bundler, fair, to status quo: 99th percentile",
        tails[2] / tails[0],
        "x",
        Budget::Between(0.2, 0.95),
    );
    report.draw(
        "congestion-bundler-slowdown.svg",
        ratio_spreads("Slowdown of requests (thesis, figure 4.19)", &boxes.concat()),
    )
}

/// The times of requests through a path without other requests.
struct Unloaded(Vec<f64>);

impl Unloaded {
    fn measure(path: &Path) -> Result<Self, Error> {
        let requests: Vec<_> = MEASURED
            .iter()
            .enumerate()
            .map(|(at, bytes)| Arrival { at: ALONE * at as u32, bytes: *bytes, connection: 0 })
            .collect();
        let times = requests::run(path, &Boxes::None, &requests, |_| std::future::pending())?;
        Ok(Self(times.into_iter().map(|time| time.as_secs_f64()).collect()))
    }

    /// Returns the time of a request, between those of the nearest sizes.
    fn seconds(&self, bytes: u64) -> f64 {
        let above = MEASURED.partition_point(|size| *size < bytes).clamp(1, MEASURED.len() - 1);
        let [low, high] = [above - 1, above].map(|at| (MEASURED[at] as f64, self.0[at]));
        let share = (bytes as f64 - low.0) / (high.0 - low.0);
        low.1 + share * (high.1 - low.1)
    }
}
