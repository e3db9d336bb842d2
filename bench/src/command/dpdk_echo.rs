//! `bertha-bench dpdk-echo`: echoes over two DPDK ports that share memory.

use bertha_bench::Error;
use bertha_bench::alternate::{self, Paired, alternate};
use bertha_bench::dpdk_echo::{Bare, ByHand, Load, Pair, Sample, Stack, Unchecked};
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
    let (mut bare, mut by_hand) = (Pair::<Bare>::open(0)?, Pair::<ByHand>::open(3)?);
    let (mut stack, mut unchecked) = (Pair::<Stack>::open(1)?, Pair::<Unchecked>::open(2)?);
    let mut report = Report::new("dpdk-echo");
    let paired = alternate(pairs, || bare.run(load), || stack.run(load))?;
    figures(&mut report, "bare", paired.ab.iter().map(|(bare, _)| bare));
    figures(&mut report, "Bertha", paired.ab.iter().map(|(_, stack)| stack));
    compare(&mut report, ["bare", "Bertha"], &paired, [Some(THROUGHPUT), Some(LATENCY)]);
    // What checksums and headers cost whoever has them, and what the stack costs beside.
    let paired = alternate(pairs, || bare.run(load), || by_hand.run(load))?;
    figures(&mut report, "checked by hand", paired.ab.iter().map(|(_, by_hand)| by_hand));
    compare(&mut report, ["bare", "checked by hand"], &paired, [None, None]);
    let paired = alternate(pairs, || by_hand.run(load), || stack.run(load))?;
    compare(&mut report, ["checked by hand", "Bertha"], &paired, [None, None]);
    // What the checksums cost. They are on unless somebody switches them off, so these are not what is promised.
    let paired = alternate(pairs, || bare.run(load), || unchecked.run(load))?;
    figures(&mut report, "Bertha without checksums", paired.ab.iter().map(|(_, unchecked)| unchecked));
    compare(&mut report, ["bare", "Bertha without checksums"], &paired, [None, None]);
    Ok(report)
}

/// Adds how the second of these compares with the first, which ran in turn with it.
fn compare(
    report: &mut Report,
    [base, name]: [&str; 2],
    paired: &Paired<Sample>,
    budgets: [Option<Budget>; 2],
) {
    let throughput = |sample: &Sample| sample.messages_per_second;
    let p50 = |sample: &Sample| sample.latency.p50_us;
    let [least, most] = budgets;
    for (what, pairs, budget) in [
        (format!("throughput, {name} to {base}"), paired.ab_by(throughput), least),
        (format!("throughput, {base} to itself beside {name}"), paired.aa_by(throughput), None),
        (format!("p50, {name} to {base}"), paired.ab_by(p50), most),
        (format!("p50, {base} to itself beside {name}"), paired.aa_by(p50), None),
    ] {
        // The pairs are (base, the other).
        let turned: Vec<_> = pairs.into_iter().map(|(base, other)| (other, base)).collect();
        if let Some(ratio) = ratio_of_medians(&turned, 0) {
            report.ratio(&what, &ratio, budget);
        }
    }
}

fn figures<'a>(report: &mut Report, name: &str, samples: impl Iterator<Item = &'a Sample>) {
    let samples: Vec<_> = samples.collect();
    let middle = |number: fn(&Sample) -> f64| {
        median(&samples.iter().map(|sample| number(sample)).collect::<Vec<_>>()).unwrap_or(f64::NAN)
    };
    report.figure(format!("{name}, throughput"), middle(|it| it.messages_per_second), "messages/s");
    report.figure(format!("{name}, p50"), middle(|it| it.latency.p50_us), "us");
    report.figure(format!("{name}, p99"), middle(|it| it.latency.p99_us), "us");
}
