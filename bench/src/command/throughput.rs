//! `bertha-bench throughput`: files over kernel UDP, and over DPDK where the program is built for it.

#[cfg(feature = "dpdk")]
mod memif;

use bertha_bench::alternate::alternate;
use bertha_bench::instructions::Counter;
use bertha_bench::report::{Budget, Report};
use bertha_bench::statistics::{median, percentile, ratio_of_medians};
use bertha_bench::throughput::{CHUNK, Contender, ETHERNET, LOOPBACK, Setup};
use bertha_bench::{Error, ErrorKind};
use clap::Args;

/// How to move files.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Bytes of a file; each connection has one
    #[arg(long, default_value_t = 50_000_000)]
    bytes: usize,
    /// Connections at once
    #[arg(long, value_delimiter = ',', default_values_t = [1, 4, 16])]
    connections: Vec<usize>,
    /// Runs of each contender, in turn; 0 leaves the comparison out
    #[arg(long, default_value_t = 7)]
    runs: usize,
    /// Pairs of runs with and without the Chunnel that does nothing; 0 leaves the ratio out
    #[arg(long, default_value_t = 301)]
    pairs: usize,
    /// Bytes of a file of those: short ones, so that what disturbs one is in few of many
    #[arg(long, default_value_t = 16_000_000)]
    pair_bytes: usize,
    /// Messages of 64 KiB that callgrind counts; 0 leaves the count out
    #[arg(long, default_value_t = 200)]
    counted: u64,
}

use Contender::{Bertha, Blast, Quinn, Sealed, Tcp, Unreliable, WithNothing};

const CONTENDERS: [Contender; 7] = [Bertha, WithNothing, Sealed, Quinn, Tcp, Unreliable, Blast];

/// Bertha against `quinn`, which encrypts.
const AGAINST_QUINN: Budget = Budget::AtLeast(1.2);

/// The stack with a Chunnel that does nothing against the one without.
const NOTHING: [Budget; 2] = [Budget::AtLeast(0.98), Budget::AtMost(1.02)];

pub(crate) fn run(options: &Options) -> Result<Report, Error> {
    let mut report = Report::new("throughput");
    let datagrams = if options.runs == 0 { &[][..] } else { &[ETHERNET, LOOPBACK] };
    for &datagram in datagrams {
        for &connections in &options.connections {
            let setup = Setup { connections, bytes: options.bytes, datagram };
            match race(&setup, options.runs, &mut report) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::Core => {
                    report.skipped("goodput", &error.to_string(), "MB/s");
                    return Ok(report);
                }
                Err(error) => return Err(error),
            }
        }
    }
    #[cfg(feature = "dpdk")]
    if options.runs > 0 {
        memif::run(options, &mut report)?;
    }
    if options.pairs > 0 {
        nothing(options, &mut report)?;
    }
    if options.counted > 0 {
        count(options, &mut report)?;
    }
    Ok(report)
}

/// All contenders in turn, `runs` times.
fn race(setup: &Setup, runs: usize, report: &mut Report) -> Result<(), Error> {
    let mut samples = [const { Vec::new() }; CONTENDERS.len()];
    for run in 0..runs {
        for place in 0..CONTENDERS.len() {
            // Another one begins each time, and each other time they go backwards.
            let at = (run + place) % CONTENDERS.len();
            let at = if run % 2 == 0 { at } else { CONTENDERS.len() - 1 - at };
            samples[at].push(CONTENDERS[at].run(setup)?);
        }
    }
    let of =
        |contender: Contender| CONTENDERS.iter().position(|other| *other == contender).unwrap_or_default();
    let row = format!("{} byte datagrams, {} connections", setup.datagram, setup.connections);
    for (contender, samples) in CONTENDERS.iter().zip(&samples) {
        let at = |fraction| percentile(samples, fraction).unwrap_or(f64::NAN) / 1e6;
        let spread = format!("{row}: {} (p25 {:.0}, p75 {:.0})", contender.name(), at(0.25), at(0.75));
        report.figure(spread, at(0.5), "MB/s");
    }
    let middle = |contender| median(&samples[of(contender)]).unwrap_or(f64::NAN);
    let against = |contender| middle(contender) / middle(Quinn);
    report.bounded(format!("{row}: Bertha against quinn"), against(Bertha), "x", AGAINST_QUINN);
    report.figure(format!("{row}: encrypted Bertha against quinn"), against(Sealed), "x");
    report.figure(format!("{row}: Bertha against kernel TCP"), middle(Bertha) / middle(Tcp), "x");
    report.figure(format!("{row}: Bertha against raw datagrams"), middle(Bertha) / middle(Blast), "x");
    Ok(())
}

/// The claim of the thesis' Figure 3.3.
fn nothing(options: &Options, report: &mut Report) -> Result<(), Error> {
    let setup = Setup { connections: 1, bytes: options.pair_bytes, datagram: ETHERNET };
    let paired = alternate(options.pairs, || Bertha.run(&setup), || WithNothing.run(&setup))?;
    let turned: Vec<_> = paired.ab.iter().map(|(without, with)| (*with, *without)).collect();
    if let Some(ratio) = ratio_of_medians(&turned, 0) {
        report.ratio("goodput with a no-op Chunnel against without", &ratio, Some(NOTHING[0]));
    }
    if let Some(ratio) = ratio_of_medians(&paired.aa_by(|goodput| *goodput), 0) {
        report.ratio("goodput without one against itself", &ratio, None);
    }
    Ok(())
}

fn count(options: &Options, report: &mut Report) -> Result<(), Error> {
    let counter = Counter::of_this_program()?;
    let of = |probe| counter.per_iteration(probe, options.counted);
    let megabyte = |probe| of(probe).map(|chunk| chunk * 1e6 / CHUNK as f64);
    let (plain, with_nothing) = (megabyte("throughput-memory"), megabyte("throughput-memory-nothing"));
    if let (Ok(plain), Ok(with_nothing)) = (&plain, &with_nothing) {
        let ratio = with_nothing / plain;
        report.bounded(
            "instructions per MB in memory, with a no-op Chunnel against without",
            ratio,
            "x",
            NOTHING[1],
        );
    }
    report.instructions("1 MB in memory, both ends", plain)?;
    report.instructions("1 MB in memory with a no-op Chunnel, both ends", with_nothing)?;
    report.instructions("64 KiB over Bertha, both ends", of("throughput"))?;
    report.instructions("64 KiB with a no-op Chunnel, both ends", of("throughput-nothing"))?;
    report.instructions("64 KiB encrypted (Seal), both ends", of("throughput-sealed"))
}
