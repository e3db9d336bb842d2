//! `bertha-bench echo`: round trips of 64 bytes.

use bertha_bench::baseline::{Rounds, Waiting, echo_std, echo_tokio};
use bertha_bench::cores::Placement;
use bertha_bench::latency::Latency;
use bertha_bench::report::Report;
use bertha_bench::{Error, ErrorKind};
use clap::Args;

/// How to measure echoes.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Round trips per row
    #[arg(long, default_value_t = 20_000)]
    rounds: usize,
    /// Round trips before the first that counts
    #[arg(long, default_value_t = 2_000)]
    warm_up: usize,
}

type Echo = fn(Placement, Waiting, Rounds) -> Result<Latency, Error>;

/// Every echo that makes sense: two spinning threads on one core would only wait for each other's time slice to end.
const ECHOES: [(&str, Echo, Placement, Waiting); 7] = [
    ("std, one core, park", echo_std::run, Placement::OneCore, Waiting::Park),
    ("tokio, one core, park", echo_tokio::run, Placement::OneCore, Waiting::Park),
    ("tokio, one core, spin", echo_tokio::run, Placement::OneCore, Waiting::Spin),
    ("std, across cores, park", echo_std::run, Placement::AcrossCores, Waiting::Park),
    ("tokio, across cores, park", echo_tokio::run, Placement::AcrossCores, Waiting::Park),
    ("std, across cores, spin", echo_std::run, Placement::AcrossCores, Waiting::Spin),
    ("tokio, across cores, spin", echo_tokio::run, Placement::AcrossCores, Waiting::Spin),
];

pub(crate) fn run(options: &Options) -> Result<Report, Error> {
    let rounds = Rounds { warm_up: options.warm_up, measured: options.rounds };
    let mut report = Report::new("echo");
    for (name, echo, placement, waiting) in ECHOES {
        match echo(placement, waiting, rounds) {
            Ok(latency) => {
                report.figure(format!("{name}, p50"), latency.p50_us, "us");
                report.figure(format!("{name}, p99"), latency.p99_us, "us");
            }
            Err(error) if error.kind() == ErrorKind::Core => report.skipped(name, &error.to_string(), "us"),
            Err(error) => return Err(error),
        }
    }
    Ok(report)
}
