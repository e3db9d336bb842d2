//! `bertha-bench shard-raw`: routing at the server, with and without decoding.

use bertha_bench::alternate::{self, alternate};
use bertha_bench::report::{Budget, Report, directory};
use bertha_bench::shard_raw::{self, Line, Routing, Sample, Setup};
use bertha_bench::statistics::{median, ratio_of_medians};
use bertha_bench::workload::Workload;
use bertha_bench::{Error, ErrorKind};
use clap::Args;

/// How to load the router.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Requests on the way at any time
    #[arg(long, default_value_t = 512)]
    outstanding: u64,
    /// Seconds per sample
    #[arg(long, default_value_t = 0.4)]
    sample_seconds: f64,
    /// Bytes that each request writes; a message has 48 more
    #[arg(long, default_value_t = 84)]
    value_bytes: usize,
    /// Pairs of samples
    #[arg(long, default_value_t = alternate::FEWEST_PAIRS)]
    pairs: usize,
    /// Offered loads of the figure in operations per second; none leaves it out
    #[arg(long, value_delimiter = ',', num_args = 0.., default_values_t = [0.25e6, 0.5e6, 1e6, 1.5e6, 2e6, 2.5e6, 3e6, 3.5e6, 4e6, 4.5e6])]
    rates: Vec<f64>,
    /// Seconds at each of these loads
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
}

pub(crate) fn run(options: &Options) -> Result<Report, Error> {
    let mut report = Report::new("shard-raw");
    // Updates alone, so that requests are as long as replies.
    let workload = Workload { value_bytes: options.value_bytes, reads: 0.0, ..Workload::default() };
    let setup = Setup { outstanding: options.outstanding, seconds: options.sample_seconds, workload };
    let paired = alternate(
        options.pairs,
        || shard_raw::across_cores(&setup, Routing::Decoding),
        || shard_raw::across_cores(&setup, Routing::Raw),
    );
    match paired {
        Ok(paired) => {
            let (decoding, raw): (Vec<_>, Vec<_>) = paired.ab.iter().copied().unzip();
            figures("decoding", &decoding, &mut report);
            figures("raw", &raw, &mut report);
            let per_cpu = |sample: &Sample| sample.requests_per_cpu_second;
            for (name, pairs, budget) in [
                (
                    "requests per CPU second, raw to decoding",
                    paired.ab_by(per_cpu),
                    Some(Budget::AtLeast(2.0)),
                ),
                ("requests per CPU second, decoding to itself", paired.aa_by(per_cpu), None),
            ] {
                let turned: Vec<_> = pairs.into_iter().map(|(decoding, other)| (other, decoding)).collect();
                if let Some(ratio) = ratio_of_medians(&turned, 0) {
                    report.ratio(name, &ratio, budget);
                }
            }
        }
        Err(error) if error.kind() == ErrorKind::Core => {
            report.skipped("requests per CPU second", &error.to_string(), "x");
            return Ok(report);
        }
        Err(error) => return Err(error),
    }
    if !options.rates.is_empty() {
        figure(options, &workload, &mut report)?;
    }
    Ok(report)
}

fn figures(name: &str, samples: &[Sample], report: &mut Report) {
    let middle = |number: fn(&Sample) -> f64| {
        median(&samples.iter().map(number).collect::<Vec<_>>()).unwrap_or(f64::NAN)
    };
    report.figure(
        format!("{name}, per CPU second"),
        middle(|sample| sample.requests_per_cpu_second),
        "requests",
    );
    report.figure(format!("{name}, throughput"), middle(|sample| sample.requests_per_second), "ops/s");
    report.figure(format!("{name}, busy"), 100.0 * middle(|sample| sample.busy), "%");
}

/// Latency against offered load, load by load in turn.
fn figure(options: &Options, workload: &Workload, report: &mut Report) -> Result<(), Error> {
    let mut lines: Vec<Line> = Vec::new();
    for rate in &options.rates {
        for routing in [Routing::Decoding, Routing::Raw] {
            let line = shard_raw::line(routing, workload, *rate, options.seconds)?;
            for run in &line.runs {
                let load = format!("{}, {:.0} thousand/s offered", line.label, rate / 1e3);
                report.figure(format!("{load}, answered"), run.throughput, "ops/s");
                report.figure(format!("{load}, p50"), run.total.p50, "us");
                report.figure(format!("{load}, p95"), run.total.p95, "us");
                report.figure(format!("{load}, lost"), run.total.given_up as f64, "probes");
            }
            lines.push(line);
        }
    }
    let directory = directory();
    std::fs::create_dir_all(&directory)
        .map_err(Error::while_doing(ErrorKind::Report, "making the directory of reports"))?;
    shard_raw::draw(&Line::joined(lines), &directory.join("shard-raw.svg"))
}
