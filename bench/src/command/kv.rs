//! `bertha-bench kv`: the key-value store under workload B.

use bertha_bench::alternate::{self, Paired, alternate};
use bertha_bench::baseline::kv_raw::{self, Sample, Setup};
use bertha_bench::codec::{Bincode, Codec, Postcard};
use bertha_bench::instructions::Counter;
use bertha_bench::report::Report;
use bertha_bench::statistics::{median, ratio_of_medians};
use bertha_bench::workload::Workload;
use bertha_bench::{Error, ErrorKind};
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
    /// Pairs of samples
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

pub(crate) fn run(options: &Options) -> Result<Report, Error> {
    let mut report = Report::new("kv");
    with_codec(Bincode, options, &mut report)?;
    with_codec(Postcard, options, &mut report)?;
    Ok(report)
}

/// The hand-written store, against itself: how far the ratio of two equal programs strays here.
fn with_codec<C: Codec>(codec: C, options: &Options, report: &mut Report) -> Result<(), Error> {
    let setup = options.setup();
    let raw = || kv_raw::across_cores(codec, &setup);
    let name = format!("raw sockets, {}", C::NAME);
    match alternate(options.pairs, raw, raw) {
        Ok(paired) => figures(&name, &paired, report),
        Err(error) if error.kind() == ErrorKind::Core => report.skipped(&name, &error.to_string(), "ops/s"),
        Err(error) => return Err(error),
    }
    if options.counted > 0 {
        let probe = format!("kv-raw-{}", C::NAME);
        let counted = Counter::of_this_program()?.per_iteration(&probe, options.counted);
        report.instructions(&format!("{name}, client and server, per request"), counted)?;
    }
    Ok(())
}

fn figures(name: &str, paired: &Paired<Sample>, report: &mut Report) {
    let of_a = |number: fn(&Sample) -> f64| {
        let samples: Vec<_> = paired.ab.iter().map(|(a, _)| number(a)).collect();
        median(&samples).unwrap_or(f64::NAN)
    };
    report.figure(format!("{name}, throughput"), of_a(|sample| sample.requests_per_second), "ops/s");
    report.figure(format!("{name}, p50"), of_a(|sample| sample.latency.p50_us), "us");
    report.figure(format!("{name}, p99"), of_a(|sample| sample.latency.p99_us), "us");
    let samples = paired.ab.iter().flat_map(|(a, b)| [a, b]);
    report.figure(
        format!("{name}, resent"),
        samples.map(|sample| sample.resent).sum::<u64>() as f64,
        "requests",
    );
    if let Some(ratio) = ratio_of_medians(&paired.aa_by(|sample| sample.requests_per_second), 0) {
        report.ratio(&format!("{name}, throughput against itself"), &ratio, None);
    }
    if let Some(ratio) = ratio_of_medians(&paired.aa_by(|sample| sample.latency.p99_us), 0) {
        report.ratio(&format!("{name}, p99 against itself"), &ratio, None);
    }
}
