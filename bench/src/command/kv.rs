//! `bertha-bench kv`: the key-value store under workload B.

use bertha_bench::alternate::{self, Paired, alternate};
use bertha_bench::baseline::kv_raw::{self, Sample, Setup};
use bertha_bench::codec::Bincode;
use bertha_bench::instructions::Counter;
use bertha_bench::report::{Budget, Report};
use bertha_bench::statistics::{median, ratio_of_medians};
use bertha_bench::workload::Workload;
use bertha_bench::{Error, ErrorKind, kv_bertha};
use clap::Args;

/// How to load the store.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Shards, each with a thread and a socket
    #[arg(long, default_value_t = 1)]
    shards: usize,
    /// Requests on the way to each shard; few of them measure wake-ups instead of work
    #[arg(long, default_value_t = Setup::default().outstanding)]
    outstanding: usize,
    /// Requests per sample
    #[arg(long, default_value_t = 400_000)]
    requests: u64,
    /// Records in the store
    #[arg(long, default_value_t = 1000)]
    records: usize,
    /// Bytes of each value
    #[arg(long, default_value_t = 100)]
    value_bytes: usize,
    /// Pairs of samples; 0 leaves throughput and latency out
    #[arg(long, default_value_t = alternate::FEWEST_PAIRS)]
    pairs: usize,
    /// Requests that callgrind counts, of the default load on one shard; 0 leaves the count out
    #[arg(long, default_value_t = 50_000)]
    counted: u64,
}

impl Options {
    fn setup(&self) -> Setup {
        let workload =
            Workload { records: self.records, value_bytes: self.value_bytes, ..Workload::default() };
        Setup { shards: self.shards, outstanding: self.outstanding, requests: self.requests, workload }
    }
}

const RAW: &str = "raw sockets";
const BERTHA: &str = "bertha";

pub(crate) fn run(options: &Options) -> Result<Report, Error> {
    let mut report = Report::new("kv");
    if options.counted > 0 {
        instructions(options.counted, &mut report)?;
    }
    if options.pairs > 0 {
        let setup = options.setup();
        match alternate(
            options.pairs,
            || kv_raw::across_cores(Bincode, &setup),
            || kv_bertha::across_cores(&setup),
        ) {
            Ok(paired) => times(&paired, &mut report),
            Err(error) if error.kind() == ErrorKind::Core => {
                report.skipped("throughput and latency", &error.to_string(), "x");
            }
            Err(error) => return Err(error),
        }
    }
    Ok(report)
}

/// What client and server execute per request, one beside the other.
fn instructions(requests: u64, report: &mut Report) -> Result<(), Error> {
    let counter = Counter::of_this_program()?;
    let raw = counter.per_iteration("kv-raw-bincode", requests);
    let bertha = counter.per_iteration("kv-bertha", requests);
    let ratio = match (&raw, &bertha) {
        (Ok(raw), Ok(bertha)) => Some(bertha / raw),
        _ => None,
    };
    report.instructions(&format!("{RAW}, per request"), raw)?;
    report.instructions(&format!("{BERTHA}, per request"), bertha)?;
    if let Some(ratio) = ratio {
        report.bounded(format!("instructions, {BERTHA} to {RAW}"), ratio, "x", Budget::AtMost(1.02));
    }
    Ok(())
}

fn times(paired: &Paired<Sample>, report: &mut Report) {
    let raw: Vec<_> = paired.ab.iter().map(|(raw, _)| *raw).collect();
    let bertha: Vec<_> = paired.ab.iter().map(|(_, bertha)| *bertha).collect();
    figures(RAW, &raw, report);
    figures(BERTHA, &bertha, report);
    let throughput = |sample: &Sample| sample.requests_per_second;
    let p99 = |sample: &Sample| sample.latency.p99_us;
    for (what, pairs, budget) in [
        (format!("throughput, {BERTHA} to {RAW}"), paired.ab_by(throughput), Some(Budget::AtLeast(0.97))),
        (format!("throughput, {RAW} to itself"), paired.aa_by(throughput), None),
        (format!("p99, {BERTHA} to {RAW}"), paired.ab_by(p99), Some(Budget::AtMost(1.06))),
        (format!("p99, {RAW} to itself"), paired.aa_by(p99), None),
    ] {
        // The pairs are (raw, the other).
        let turned: Vec<_> = pairs.into_iter().map(|(raw, other)| (other, raw)).collect();
        if let Some(ratio) = ratio_of_medians(&turned, 0) {
            report.ratio(&what, &ratio, budget);
        }
    }
}

fn figures(name: &str, samples: &[Sample], report: &mut Report) {
    let middle = |number: fn(&Sample) -> f64| {
        median(&samples.iter().map(number).collect::<Vec<_>>()).unwrap_or(f64::NAN)
    };
    report.figure(format!("{name}, throughput"), middle(|sample| sample.requests_per_second), "ops/s");
    report.figure(format!("{name}, p50"), middle(|sample| sample.latency.p50_us), "us");
    report.figure(format!("{name}, p99"), middle(|sample| sample.latency.p99_us), "us");
    let resent = samples.iter().map(|sample| sample.resent).sum::<u64>();
    report.figure(format!("{name}, resent"), resent as f64, "requests");
}
