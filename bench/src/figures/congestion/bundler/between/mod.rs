//! Figure 4.19 between network namespaces: requests by Linux's TCP over a path in real time, with the boxes of the
//! program `bertha-bundler` around it and without them. It needs root.

mod boxes;
mod requests;
mod site;

use super::super::completion::arrivals;
use super::super::flows::path;
use super::super::shaped::lacking;
use super::{LOAD, SIZES};
use crate::Error;
use crate::harness::{Effort, percentile};
use crate::report::{Budget, Report};
use boxes::Boxes;
use site::Site;

/// Rate and round trip of the path: its packets take a tenth of a processor.
const MBITS: f64 = 12.0;
const MILLIS: u64 = 50;

/// The largest of the short requests, in bytes.
const SHORT: u64 = 10_000;

/// Budgets of the median of short requests, against that without boxes; the thesis has 0.72 in fair order.
const FAIR: Budget = Budget::Between(0.3, 0.95);
const IN_ORDER: Budget = Budget::Between(0.95, 3.0);

/// Measures the rows.
///
/// # Errors
/// [`ErrorKind::Core`](crate::ErrorKind::Core) if the system refuses namespaces, and errors of the boxes and of the requests.
pub(in super::super) fn run(report: &mut Report, effort: Effort) -> Result<(), Error> {
    if let Some(reason) = lacking() {
        report.skip("4.19 between namespaces", reason);
        return Ok(());
    }
    let path = path(MBITS, MILLIS).buffered(2.0);
    let requests = arrivals(SIZES, effort.pick(10_000, 2_000), LOAD * path.rate.mean(), 1);
    let mut medians = Vec::new();
    for (name, order) in
        [("status quo", None), ("Bundler, fair", Some("sfq")), ("Bundler, in order", Some("fifo"))]
    {
        let site = Site::new(&path)?;
        let _boxes = order.map(|order| Boxes::start(&site, order, path.buffer)).transpose()?;
        let times = requests::run(&site, &requests)?;
        let short = requests.iter().zip(times).filter(|(request, _)| request.bytes <= SHORT);
        let millis: Vec<_> = short.map(|(_, took)| took.as_secs_f64() * 1e3).collect();
        let part = |part| percentile(&millis, part).unwrap_or(f64::NAN);
        let row = format!("4.19 between namespaces, {name}, requests up to 10 KB");
        report.figure(format!("{row}: median of {}", millis.len()), part(0.5), "ms");
        report.figure(format!("{row}: 99th percentile"), part(0.99), "ms");
        medians.push(part(0.5));
    }
    let [quo, fair, in_order] = medians[..] else { return Ok(()) };
    let name = |what: &str| format!("4.19 between namespaces, {what}, to status quo: median");
    report.bounded(name("Bundler, fair"), fair / quo, "x", FAIR);
    report.bounded(name("Bundler, in order"), in_order / quo, "x", IN_ORDER);
    Ok(())
}
