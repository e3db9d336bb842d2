//! The rows of goodput.

use super::{CHUNK, Contender, LOOPBACK, Setup};
use crate::Error;
use crate::harness::{Counter, ETHERNET, Effort, alternate, median, ratio_of_medians};
use crate::report::{Budget, Report};
use clap::Args;

/// The options of `bertha-bench throughput`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Connections at once
    #[arg(long, value_delimiter = ',', default_values_t = [1, 4, 16])]
    connections: Vec<usize>,
}

/// Budget of encrypted Bertha against `quinn`.
#[cfg(feature = "quic")]
const ENCRYPTED: Budget = Budget::AtLeast(1.0);

/// Budget of `Tls` against `tokio-rustls`, both over the kernel's TCP.
#[cfg(feature = "tls")]
const TLS: Budget = Budget::AtLeast(0.95);

/// Budgets of connections against the kernel's TCP, whose packets on a loopback interface have up to 64 KiB: in packets of Ethernet, and in
/// such packets.
const TCP: Budget = Budget::AtLeast(0.5);
const LARGE_TCP: Budget = Budget::AtLeast(1.0);

/// Budget of the stack with a Chunnel that does nothing against the stack without it, in instructions.
const NOTHING: Budget = Budget::AtMost(1.001);

/// Budget of the share of checksums in the transport's instructions.
const CHECKSUMS: Budget = Budget::Between(0.01, 0.075);

/// Measures the rows.
///
/// # Errors
/// Errors of the contenders, and of the counter.
pub(crate) fn run(options: &Options, effort: Effort) -> Result<Report, Error> {
    let mut report = Report::new("throughput");
    let bytes = effort.pick(50_000_000, 10_000_000);
    for datagram in [ETHERNET, LOOPBACK] {
        for &connections in &options.connections {
            let setup = Setup { connections, bytes, datagram };
            let raced = race(&setup, effort.pick(7, 3));
            let Some(samples) = report.unless_impossible("goodput", raced)? else { return Ok(report) };
            describe(&setup, &samples, &mut report);
        }
    }
    #[cfg(feature = "dpdk")]
    super::memif::run(&options.connections, bytes, effort, &mut report)?;
    super::figure::run(bytes, effort, &mut report)?;
    let setup = Setup { connections: 1, bytes: 16_000_000, datagram: ETHERNET };
    let paired = alternate(
        effort.pick(301, 11),
        || Contender::Bertha.run(&setup),
        || Contender::WithNothing.run(&setup),
    )?;
    report.compare("goodput with a no-op Chunnel, to without", &paired, |it| *it, None);
    count(&mut report, effort.pick(200, 50))?;
    Ok(report)
}

/// The goodput of a contender, run by run.
struct Samples {
    contender: Contender,
    goodput: Vec<f64>,
}

/// Runs all contenders in turn, `runs` times.
fn race(setup: &Setup, runs: usize) -> Result<Vec<Samples>, Error> {
    let all = Contender::ALL.iter().map(|contender| Samples { contender: *contender, goodput: Vec::new() });
    let mut all: Vec<_> = all.collect();
    let count = all.len();
    for run in 0..runs {
        for place in 0..count {
            // Each run begins with another contender, and every other run goes backwards.
            let at = (run + place) % count;
            let samples = &mut all[if run % 2 == 0 { at } else { count - 1 - at }];
            samples.goodput.push(samples.contender.run(setup)?);
        }
    }
    Ok(all)
}

fn describe(setup: &Setup, all: &[Samples], report: &mut Report) {
    let row = format!("{}-byte datagrams, {} connections", setup.datagram, setup.connections);
    let of = |wanted| {
        let found = all.iter().find(|samples| samples.contender == wanted);
        found.map_or(&[][..], |samples| &samples.goodput)
    };
    let mut ratio = |one, other, what: &str, budget| {
        let pairs: Vec<_> = of(one).iter().copied().zip(of(other).iter().copied()).collect();
        report.ratio(format!("{row}: {what}"), ratio_of_medians(&pairs, 0), budget);
    };
    #[cfg(feature = "quic")]
    {
        ratio(Contender::Encrypted, Contender::Quinn, "encrypted Bertha to quinn", Some(ENCRYPTED));
        ratio(Contender::Bertha, Contender::Quinn, "Bertha, not encrypted, to quinn", None);
    }
    #[cfg(feature = "tls")]
    ratio(Contender::Tls, Contender::TokioRustls, "Tls to tokio-rustls, over kernel TCP", Some(TLS));
    let to_tcp = if setup.datagram == ETHERNET { TCP } else { LARGE_TCP };
    ratio(Contender::Bertha, Contender::Tcp, "Bertha to kernel TCP", Some(to_tcp));
    ratio(
        Contender::Bertha,
        Contender::Raw,
        "Bertha, whose messages all arrive, to raw datagrams, which nobody acknowledges",
        None,
    );
    for samples in all {
        let middle = median(&samples.goodput).unwrap_or(f64::NAN);
        report.figure(format!("{row}: {}", samples.contender.name()), middle / 1e6, "MB/s");
    }
}

fn count(report: &mut Report, messages: u64) -> Result<(), Error> {
    let of = |probe: &str| Counter::of_probe(format!("throughput-{probe}"))?.instructions(messages);
    let megabyte = |probe| of(probe).map(|chunk| chunk * 1e6 / CHUNK as f64);
    let plain = report.count("1 MB in memory, both ends", megabyte("memory"))?;
    report.count("1 MB in memory above a layer that checks, both ends", megabyte("memory-checked"))?;
    let nothing =
        report.count("1 MB in memory with a no-op Chunnel, both ends", megabyte("memory-nothing"))?;
    if let (Some(plain), Some(nothing)) = (plain, nothing) {
        let name = "instructions per MB in memory, with a no-op Chunnel to without";
        report.bounded(name, nothing / plain, "x", NOTHING);
    }
    let over_udp = report.count("1 MB over UDP, both ends", megabyte("udp"))?;
    if let (Some(all), Some(checksums)) = (over_udp, report.unless_impossible("checksums", megabyte("crc"))?)
    {
        report.bounded(
            "1 MB over UDP: share of the checksums of packets",
            checksums / all,
            "of all",
            CHECKSUMS,
        );
    }
    for (name, probe) in [
        ("1 MB over UDP with a no-op Chunnel, both ends", "udp-nothing"),
        ("1 MB over UDP, encrypted (Noise), both ends", "udp-noise"),
    ] {
        report.count(name, megabyte(probe))?;
    }
    #[cfg(feature = "tls")]
    {
        let tls = report.count("1 MB by Tls over kernel TCP, both ends", megabyte("tls"))?;
        let name = "1 MB by tokio-rustls over kernel TCP, both ends";
        let by_hand = report.count(name, megabyte("tokio-rustls"))?;
        if let (Some(tls), Some(by_hand)) = (tls, by_hand) {
            report.figure("instructions per MB, Tls to tokio-rustls, over kernel TCP", tls / by_hand, "x");
        }
    }
    Ok(())
}
