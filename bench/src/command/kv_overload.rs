//! `bertha-bench kv-overload`: the key-value store under twice the load that it can take.

use bertha_bench::kv_overload::{self, Sample, Setup};
use bertha_bench::report::{Budget, Report};
use bertha_bench::statistics::median;
use bertha_bench::workload::Workload;
use bertha_bench::{Error, ErrorKind};
use clap::Args;

/// How to overload the store.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// What is offered, as a multiple of the peak
    #[arg(long, default_value_t = 2.0)]
    overload: f64,
    /// Seconds that each load lasts
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// How often peak and overload are measured, in turn
    #[arg(long, default_value_t = 9)]
    repetitions: usize,
    /// Bytes of a record, as many as YCSB's have: with few, the store answers more than half of what one core can send
    #[arg(long, default_value_t = 1000)]
    value_bytes: usize,
}

pub(crate) fn run(options: &Options) -> Result<Report, Error> {
    let mut report = Report::new("kv-overload");
    let workload = Workload { value_bytes: options.value_bytes, ..Workload::default() };
    let setup = Setup { seconds: options.seconds, overload: options.overload, workload };
    let samples = (0..options.repetitions.max(1)).map(|_| kv_overload::across_cores(&setup));
    match samples.collect::<Result<Vec<_>, _>>() {
        Ok(samples) => figures(options, &samples, &mut report),
        Err(error) if error.kind() == ErrorKind::Core => report.skipped("overload", &error.to_string(), "x"),
        Err(error) => return Err(error),
    }
    Ok(report)
}

fn figures(options: &Options, samples: &[Sample], report: &mut Report) {
    let middle = |number: fn(&Sample) -> f64| {
        median(&samples.iter().map(number).collect::<Vec<_>>()).unwrap_or(f64::NAN)
    };
    report.figure("peak", middle(|sample| sample.peak), "ops/s");
    report.figure("offered", middle(|sample| sample.offered), "ops/s");
    report.figure("answered", middle(|sample| sample.answered), "ops/s");
    let offered = middle(|sample| sample.offered / sample.peak);
    report.bounded("offered to peak", offered, "x", Budget::AtLeast(0.95 * options.overload));
    let answered = middle(|sample| sample.answered / sample.peak);
    report.bounded("answered to peak", answered, "x", Budget::AtLeast(0.9));
}
