//! `bertha-bench dpdk-echo`: echoes over two DPDK ports that share memory.

use bertha_bench::Error;
use bertha_bench::alternate::{self, alternate};
use bertha_bench::dpdk_echo::{Bare, Load, Pair, Sample, Stack};
use bertha_bench::report::{Budget, Report};
use bertha_bench::statistics::{median, ratio_of_medians};
use clap::Args;

/// How to measure echoes over DPDK.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Bytes of a message
    #[arg(long, default_value_t = 64)]
    len: usize,
    /// Messages on the way while throughput is measured
    #[arg(long, default_value_t = 128)]
    outstanding: usize,
    /// Messages per sample of throughput
    #[arg(long, default_value_t = 1_000_000)]
    messages: u64,
    /// Round trips per sample of latency
    #[arg(long, default_value_t = 50_000)]
    rounds: u64,
    /// Pairs of samples
    #[arg(long, default_value_t = alternate::FEWEST_PAIRS)]
    pairs: usize,
}

/// The stack against frames that are turned round by hand.
const THROUGHPUT: Budget = Budget::AtLeast(0.95);
const LATENCY: Budget = Budget::AtMost(1.05);

pub(crate) fn run(options: &Options) -> Result<Report, Error> {
    let &Options { len, outstanding, messages, rounds, pairs } = options;
    let load = Load { len, outstanding, messages, rounds };
    let (mut bare, mut stack) = (Pair::<Bare>::open(0)?, Pair::<Stack>::open(1)?);
    let paired = alternate(pairs, || bare.run(load), || stack.run(load))?;
    let mut report = Report::new("dpdk-echo");
    let bares: Vec<_> = paired.ab.iter().map(|(bare, _)| *bare).collect();
    let stacks: Vec<_> = paired.ab.iter().map(|(_, stack)| *stack).collect();
    for (name, samples) in [("bare", bares), ("Bertha", stacks)] {
        let middle = |number: fn(&Sample) -> f64| {
            median(&samples.iter().map(number).collect::<Vec<_>>()).unwrap_or(f64::NAN)
        };
        report.figure(format!("{name}, throughput"), middle(|it| it.messages_per_second), "messages/s");
        report.figure(format!("{name}, p50"), middle(|it| it.latency.p50_us), "us");
        report.figure(format!("{name}, p99"), middle(|it| it.latency.p99_us), "us");
    }
    let throughput = |sample: &Sample| sample.messages_per_second;
    let p50 = |sample: &Sample| sample.latency.p50_us;
    for (what, pairs, budget) in [
        ("throughput, Bertha to bare", paired.ab_by(throughput), Some(THROUGHPUT)),
        ("throughput, bare to itself", paired.aa_by(throughput), None),
        ("p50, Bertha to bare", paired.ab_by(p50), Some(LATENCY)),
        ("p50, bare to itself", paired.aa_by(p50), None),
    ] {
        // The pairs are (bare, the other).
        let turned: Vec<_> = pairs.into_iter().map(|(bare, other)| (other, bare)).collect();
        if let Some(ratio) = ratio_of_medians(&turned, 0) {
            report.ratio(what, &ratio, budget);
        }
    }
    Ok(report)
}
