//! `bertha-bench echo`: round trips of 64 bytes.

use bertha_bench::alternate::{self, alternate};
use bertha_bench::baseline::{self, Rounds, echo_std, echo_tokio};
use bertha_bench::cores::Placement;
use bertha_bench::instructions::Counter;
use bertha_bench::latency::Latency;
use bertha_bench::report::{Budget, Report};
use bertha_bench::statistics::ratio_of_medians;
use bertha_bench::{Error, ErrorKind, echo_bertha};
use bertha_datapath_kernel::Waiting;
use clap::Args;
use std::time::Duration;

/// How to measure echoes.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Round trips per row
    #[arg(long, default_value_t = 20_000)]
    rounds: usize,
    /// Round trips before the first that counts
    #[arg(long, default_value_t = 2_000)]
    warm_up: usize,
    /// Pairs of samples for each ratio, a tenth of the round trips each; 0 leaves the ratios out
    #[arg(long, default_value_t = alternate::FEWEST_PAIRS)]
    pairs: usize,
    /// Round trips that callgrind counts; 0 leaves the count out
    #[arg(long, default_value_t = 5_000)]
    counted: u64,
    /// Microseconds for which adaptive waiting spins
    #[arg(long, default_value_t = 100)]
    spin_us: u64,
}

type Echo = Box<dyn Fn(Rounds) -> Result<Latency, Error>>;

/// Negotiation and a layer over kernel UDP, against tokio's socket in the hand.
const NEGOTIATED: Budget = Budget::AtMost(1.03);

/// Spinning for a while and then parking, against parking at once.
const ADAPTIVE: Budget = Budget::AtMost(0.15);

pub(crate) fn run(options: &Options) -> Result<Report, Error> {
    let rounds = Rounds { warm_up: options.warm_up, measured: options.rounds };
    let mut report = Report::new("echo");
    for (name, echo) in echoes(options) {
        match echo(rounds) {
            Ok(latency) => {
                report.figure(format!("{name}, p50"), latency.p50_us, "us");
                report.figure(format!("{name}, p99"), latency.p99_us, "us");
            }
            Err(error) if error.kind() == ErrorKind::Core => report.skipped(name, &error.to_string(), "us"),
            Err(error) => return Err(error),
        }
    }
    if options.pairs > 0 {
        ratios(options, &mut report)?;
    }
    if options.counted > 0 {
        let counter = Counter::of_this_program()?;
        for (name, probe) in [("tokio", "echo-tokio"), ("Bertha", "echo-bertha")] {
            let counted = counter.per_iteration(probe, options.counted);
            report.instructions(&format!("{name}, one core, park, both ends, per round trip"), counted)?;
        }
    }
    Ok(report)
}

/// Every echo that makes sense: two spinning threads on one core would only wait for each other's time slice to end.
fn echoes(options: &Options) -> [(&'static str, Echo); 12] {
    use Placement::{AcrossCores, OneCore};
    let (park, spin) = (baseline::Waiting::Park, baseline::Waiting::Spin);
    let adaptive = options.adaptive();
    [
        ("std, one core, park", std(OneCore, park)),
        ("tokio, one core, park", tokio(OneCore, park)),
        ("tokio, one core, spin", tokio(OneCore, spin)),
        ("Bertha, one core, park", bertha(OneCore, Waiting::Park)),
        ("Bertha, one core, adaptive", bertha(OneCore, adaptive)),
        ("std, across cores, park", std(AcrossCores, park)),
        ("tokio, across cores, park", tokio(AcrossCores, park)),
        ("std, across cores, spin", std(AcrossCores, spin)),
        ("tokio, across cores, spin", tokio(AcrossCores, spin)),
        ("Bertha, across cores, park", bertha(AcrossCores, Waiting::Park)),
        ("Bertha, across cores, spin", bertha(AcrossCores, Waiting::Spin)),
        ("Bertha, across cores, adaptive", bertha(AcrossCores, adaptive)),
    ]
}

impl Options {
    fn adaptive(&self) -> Waiting {
        Waiting::Adaptive { spin_for: Duration::from_micros(self.spin_us) }
    }
}

fn std(placement: Placement, waiting: baseline::Waiting) -> Echo {
    Box::new(move |rounds| echo_std::run(placement, waiting, rounds))
}

fn tokio(placement: Placement, waiting: baseline::Waiting) -> Echo {
    Box::new(move |rounds| echo_tokio::run(placement, waiting, rounds))
}

fn bertha(placement: Placement, waiting: Waiting) -> Echo {
    Box::new(move |rounds| echo_bertha::run(placement, waiting, rounds))
}

/// Those with a budget, measured in turn.
fn ratios(options: &Options, report: &mut Report) -> Result<(), Error> {
    let rounds = Rounds { warm_up: options.warm_up / 10, measured: options.rounds / 10 };
    let against_tokio = (
        "Bertha against tokio, one core, park",
        tokio(Placement::OneCore, baseline::Waiting::Park),
        bertha(Placement::OneCore, Waiting::Park),
        NEGOTIATED,
    );
    let against_parking = (
        "Bertha, across cores, adaptive against park",
        bertha(Placement::AcrossCores, Waiting::Park),
        bertha(Placement::AcrossCores, options.adaptive()),
        ADAPTIVE,
    );
    for (name, one, other, budget) in [against_tokio, against_parking] {
        let paired = match alternate(options.pairs, || one(rounds), || other(rounds)) {
            Ok(paired) => paired,
            Err(error) if error.kind() == ErrorKind::Core => {
                report.skipped(name, &error.to_string(), "x");
                continue;
            }
            Err(error) => return Err(error),
        };
        let swapped: Vec<_> = paired.ab.iter().map(|(one, other)| (other.p50_us, one.p50_us)).collect();
        if let Some(ratio) = ratio_of_medians(&swapped, 0) {
            report.ratio(&format!("{name}, p50"), &ratio, Some(budget));
        }
        if let Some(ratio) = ratio_of_medians(&paired.aa_by(|latency| latency.p50_us), 0) {
            report.ratio(&format!("{name}, p50 of the latter against itself"), &ratio, None);
        }
    }
    Ok(())
}
