//! The program `bertha-bench rpc`: calls and responses by `Rpc` over three transports, by tonic, and by
//! tarpc; and by hand over the base of `Rpc`.

mod by_hand;
mod calls;
mod load;
mod tarpc;
mod tonic;

use crate::Error;
use crate::harness::{Counter, Effort, Placement, alternate};
use crate::report::{Budget, Report};
use calls::Transport;
pub(crate) use load::{Load, Sample};
#[cfg(not(feature = "local"))]
use tonic::Socket;
#[cfg(feature = "managed")]
pub(crate) use tonic::{Method, call, connected, serve as serve_by_tonic};
#[cfg(feature = "local")]
pub(crate) use {
    calls::{calls as make_calls, echo},
    tonic::{Socket, ask_in_turn as ask_tonic, run as by_tonic},
};

/// Budgets against tonic: requests per second, and the median latency.
const THROUGHPUT: Budget = Budget::AtLeast(2.0);
const LATENCY: Budget = Budget::AtMost(0.5);

/// Budget of a call's instructions against a loop by hand.
const BY_HAND: Budget = Budget::AtMost(1.10);

/// Budget of the instructions of a call by `RpcWithTls` against a call by `Rpc` and `Tls`.
const FUSED: Budget = Budget::AtMost(1.0);

/// Number of calls in flight in the rows in which a loop by hand sends bursts.
const SEVERAL: usize = 64;

/// A program that makes calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Program {
    Bertha(Transport),
    Tonic,
    Tarpc,
}

impl Program {
    fn name(self) -> &'static str {
        match self {
            Self::Bertha(Transport::UdpReliable) => "Rpc over UDP and Reliable",
            Self::Bertha(Transport::Tcp) => "Rpc over TCP",
            Self::Bertha(Transport::Tls) => "Rpc over TCP and Tls",
            Self::Bertha(Transport::FusedTls) => "RpcWithTls over TCP",
            Self::Tonic => "tonic",
            Self::Tarpc => "tarpc",
        }
    }

    fn run(self, placement: Placement, load: Load) -> Result<Sample, Error> {
        match self {
            Self::Bertha(transport) => calls::run(transport, placement, load),
            Self::Tonic => tonic::run(Socket::Tcp, placement, load),
            Self::Tarpc => tarpc::run(placement, load),
        }
    }
}

/// Measures the rows.
///
/// # Errors
/// Errors of the connections, and of the counter.
pub(crate) fn run(effort: Effort) -> Result<Report, Error> {
    let mut report = Report::new("rpc");
    instructions(&mut report, effort.pick(5_000, 1_000))?;
    fusion(&mut report, effort.pick(5_000, 1_000))?;
    for (place, placement) in [("one core", Placement::OneCore), ("two cores", Placement::AcrossCores)] {
        for bytes in [0, 1024] {
            for in_flight in [1, SEVERAL] {
                let calls = effort.pick(4_000, 1_000) * if in_flight == 1 { 1 } else { 5 };
                let load = Load { bytes, in_flight, calls };
                let setting = format!("{place}, {bytes} bytes, {in_flight} in flight");
                compare(&mut report, &setting, placement, load, effort)?;
            }
        }
    }
    Ok(report)
}

/// Compares each program with tonic, in turn.
fn compare(
    report: &mut Report,
    setting: &str,
    placement: Placement,
    load: Load,
    effort: Effort,
) -> Result<(), Error> {
    let transports = [Transport::UdpReliable, Transport::Tcp, Transport::Tls].map(Program::Bertha);
    for program in transports.into_iter().chain([Program::Tarpc]) {
        let name = format!("{setting}, {}", program.name());
        let pairs = effort.pick(8, 2);
        let paired =
            alternate(pairs, || Program::Tonic.run(placement, load), || program.run(placement, load));
        let Some(paired) = report.unless_impossible(&name, paired)? else { continue };
        report.median(name.clone(), &paired.b(), |it| it.per_second, "calls/s");
        report.median(format!("{name}, p50"), &paired.b(), |it| it.p50_us, "us");
        let is_ours = matches!(program, Program::Bertha(_));
        let throughput = is_ours.then_some(THROUGHPUT);
        let latency = is_ours.then_some(LATENCY);
        report.compare(
            &format!("{name} to tonic, calls per second"),
            &paired,
            |it| it.per_second,
            throughput,
        );
        report.compare(&format!("{name} to tonic, p50"), &paired, |it| it.p50_us, latency);
        if program == Program::Tarpc {
            report.median(format!("{setting}, tonic"), &paired.a(), |it| it.per_second, "calls/s");
            report.median(format!("{setting}, tonic, p50"), &paired.a(), |it| it.p50_us, "us");
        }
    }
    Ok(())
}

/// Counts the instructions of both ends per call.
fn instructions(report: &mut Report, calls: u64) -> Result<(), Error> {
    for (transport, of) in [("tcp", "TCP"), ("udp", "UDP and Reliable")] {
        for in_flight in [1, SEVERAL] {
            let count = |program: &str| {
                Counter::of_probe(format!("rpc-{program}-{transport}-{in_flight}"))?.instructions(calls)
            };
            let name = format!("{of}, {in_flight} in flight, both ends, per call");
            let by_hand = report.count(&format!("by hand, {name}"), count("hand"))?;
            let ours = report.count(&format!("Rpc, {name}"), count("bertha"))?;
            if let (Some(by_hand), Some(ours)) = (by_hand, ours) {
                report.bounded(format!("Rpc to by hand, {name}"), ours / by_hand, "x", BY_HAND);
            }
        }
    }
    Ok(())
}

/// Counts the instructions of both ends per call over TLS, by two Chunnels and by the Chunnel with which a
/// pass replaces them.
fn fusion(report: &mut Report, calls: u64) -> Result<(), Error> {
    for in_flight in [1, SEVERAL] {
        let count =
            |layers: &str| Counter::of_probe(format!("rpc-bertha-{layers}-{in_flight}"))?.instructions(calls);
        let name = format!("{in_flight} in flight, both ends, per call");
        let pair = report.count(&format!("Rpc over Tls, {name}"), count("tls"))?;
        let fused = report.count(&format!("RpcWithTls, {name}"), count("fusedtls"))?;
        if let (Some(pair), Some(fused)) = (pair, fused) {
            report.bounded(format!("RpcWithTls to Rpc over Tls, {name}"), fused / pair, "x", FUSED);
        }
    }
    Ok(())
}

/// Runs a probe, if there is a probe with this name.
pub(crate) fn probe(name: &str, calls: u64) -> Option<Result<(), Error>> {
    let mut parts = name.split('-');
    let program = parts.next()?;
    let transport = match parts.next()? {
        "tcp" => Transport::Tcp,
        "udp" => Transport::UdpReliable,
        "tls" => Transport::Tls,
        "fusedtls" => Transport::FusedTls,
        _ => return None,
    };
    let in_flight = parts.next()?.parse().ok()?;
    let load = Load { bytes: 64, in_flight, calls: calls as usize };
    match program {
        "bertha" => Some(calls::on_one_runtime(transport, load)),
        "hand" => Some(by_hand::run(transport, load)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_makes_all_calls() {
        let load = Load { bytes: 100, in_flight: 4, calls: 40 };
        let transports = [Transport::UdpReliable, Transport::Tcp, Transport::Tls, Transport::FusedTls];
        for program in transports.map(Program::Bertha).into_iter().chain([Program::Tonic, Program::Tarpc]) {
            let sample = program.run(Placement::OneCore, load).unwrap();
            assert!(sample.per_second > 0.0 && sample.p50_us > 0.0, "{program:?}: {sample:?}");
        }
    }

    #[test]
    fn every_probe_runs() {
        for program in ["bertha", "hand"] {
            for rest in ["tcp-1", "tcp-8", "udp-1", "udp-8"] {
                probe(&format!("{program}-{rest}"), 80).unwrap().unwrap();
            }
        }
        for rest in ["tls-1", "fusedtls-8"] {
            probe(&format!("bertha-{rest}"), 80).unwrap().unwrap();
        }
        assert!(probe("bertha-tcp", 1).is_none() && probe("other-tcp-1", 1).is_none());
    }
}
