//! The program `bertha-bench echo`: round trips of 64 bytes over kernel UDP, by hand with tokio and over a
//! negotiated connection.

mod bertha;
mod tokio;

use crate::Error;
use crate::harness::{Counter, Effort, Latency, Placement, alternate, meet, meet_on_one_runtime, run_on};
use crate::report::{Budget, Report};
use ::tokio::sync::oneshot;
use bertha_datapath_kernel::Waiting;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

/// Size of a message in bytes.
const BYTES: usize = 64;

/// The loopback address with a port that the system chooses.
const ANY_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Time for which adaptive waiting spins.
const SPIN: Duration = Duration::from_micros(100);

/// Numbers of round trips of a sample.
#[derive(Clone, Copy, Debug)]
struct Rounds {
    /// Number of round trips before the first that counts.
    warm_up: usize,
    measured: usize,
}

/// The program of both ends, and its way of waiting.
#[derive(Clone, Copy, Debug)]
enum Program {
    /// tokio's socket by hand, parking.
    Tokio,
    /// tokio's socket, which polls again and again.
    TokioSpinning,
    /// A stack of a single layer, negotiated.
    Bertha(Waiting),
}

/// The place of both ends.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// Two tasks of a single runtime.
    OneRuntime,
    /// Threads of their own.
    Threads(Placement),
}

/// Budget against tokio by hand.
const NEGOTIATED: Budget = Budget::AtMost(1.05);

/// Budgets of adaptive waiting against parking: across cores, and on a single core.
const ADAPTIVE: Budget = Budget::AtMost(0.15);
const ADAPTIVE_ON_ONE_CORE: Budget = Budget::AtMost(1.05);

/// Budgets of the user-space instructions of an echo whose data is already there, and of its system calls.
const READY: Budget = Budget::AtMost(2500.0);
const READY_CALLS: Budget = Budget::AtMost(4.0);

const PARK: Program = Program::Bertha(Waiting::Park);
const ADAPT: Program = Program::Bertha(Waiting::Adaptive { spin_for: SPIN });
const ONE_CORE: Place = Place::Threads(Placement::OneCore);
const ACROSS: Place = Place::Threads(Placement::AcrossCores);

/// Measures the rows.
///
/// # Errors
/// Errors of the sockets, and of the counter.
pub(crate) fn run(effort: Effort) -> Result<Report, Error> {
    let mut report = Report::new("echo");
    instructions(&mut report, effort.pick(5_000, 2_000))?;
    let rounds = Rounds { warm_up: 200, measured: effort.pick(2_000, 1_000) };
    for (name, place, a, b, budget) in [
        ("one runtime, Bertha to tokio", Place::OneRuntime, Program::Tokio, PARK, NEGOTIATED),
        ("two runtimes on one core, Bertha to tokio", ONE_CORE, Program::Tokio, PARK, NEGOTIATED),
        ("one core, adaptive waiting to parking", ONE_CORE, PARK, ADAPT, ADAPTIVE_ON_ONE_CORE),
        ("across cores, adaptive waiting to parking", ACROSS, PARK, ADAPT, ADAPTIVE),
    ] {
        let paired = alternate(effort.pairs(), || a.run(place, rounds), || b.run(place, rounds));
        if let Some(paired) = report.unless_impossible(name, paired)? {
            report.median(format!("{name}: the latter, p50"), &paired.a(), |it| it.p50_us, "us");
            report.median(format!("{name}: the former, p50"), &paired.b(), |it| it.p50_us, "us");
            report.compare(&format!("{name}, p50"), &paired, |it| it.p50_us, Some(budget));
        }
    }
    for (name, program) in [
        ("tokio, across cores, park", Program::Tokio),
        ("tokio, across cores, spin", Program::TokioSpinning),
        ("Bertha, across cores, spin", Program::Bertha(Waiting::Spin)),
    ] {
        let rounds = Rounds { warm_up: 2_000, measured: effort.pick(20_000, 5_000) };
        if let Some(latency) = report.unless_impossible(name, program.run(ACROSS, rounds))? {
            report.figure(format!("{name}, p50"), latency.p50_us, "us");
            report.figure(format!("{name}, p99"), latency.p99_us, "us");
        }
    }
    Ok(report)
}

/// Counts the work of both ends per round trip, both if each end waits for its peer, and if the data is
/// already there.
///
/// # Errors
/// Errors of the counter.
pub(crate) fn instructions(report: &mut Report, rounds: u64) -> Result<(), Error> {
    for (name, probe) in [("tokio", "tokio"), ("Bertha", "bertha")] {
        let counted = Counter::of_probe(format!("echo-{probe}"))?.instructions(rounds);
        report.count(&format!("{name}, one runtime, both ends, per round trip"), counted)?;
    }
    let ready = |program: &str| Counter::of_probe(format!("echo-{program}-ready"));
    let name = "data already there, both ends, per round trip";
    report.count(&format!("tokio, {name}"), ready("tokio")?.instructions(rounds))?;
    let counted = ready("bertha")?.instructions(rounds);
    if let Some(count) = report.unless_impossible(name, counted)? {
        report.bounded(format!("Bertha, {name}"), count, "instructions", READY);
        let calls = ["sendto", "recvfrom", "sendmsg", "recvmsg", "sendmmsg", "recvmmsg", "epoll_wait"];
        // The number is rounded to tenths: keep-alive messages and the like are not calls of an echo.
        let calls = (ready("bertha")?.system_calls(rounds / 4, &calls)? * 10.0).round() / 10.0;
        report.bounded(format!("Bertha, {name}"), calls, "system calls", READY_CALLS);
    }
    Ok(())
}

/// Runs a probe, if there is a probe with this name.
pub(crate) fn probe(name: &str, rounds: u64) -> Option<Result<(), Error>> {
    let rounds = Rounds { warm_up: 0, measured: rounds as usize };
    match name {
        "tokio" => Some(Program::Tokio.run(Place::OneRuntime, rounds).map(drop)),
        "bertha" => Some(PARK.run(Place::OneRuntime, rounds).map(drop)),
        "tokio-ready" => Some(tokio::ready(rounds)),
        "bertha-ready" => Some(bertha::ready(rounds)),
        _ => None,
    }
}

impl Program {
    /// Echoes messages between two ends over loopback, one at a time.
    ///
    /// Loopback with a single datagram in flight loses nothing, so nothing is sent twice.
    fn run(self, place: Place, rounds: Rounds) -> Result<Latency, Error> {
        if let Self::Bertha(waiting) = self {
            let (tell, told) = oneshot::channel();
            let (server, client) =
                (move || bertha::serve(waiting, tell), move || bertha::measure(told, waiting, rounds));
            match place {
                Place::OneRuntime => pinned(move || meet_on_one_runtime(server(), client())),
                Place::Threads(placement) => meet(placement, server, client),
            }
        } else {
            let (tell, told) = oneshot::channel();
            let (server, client) =
                (move || tokio::serve(self, tell), move || tokio::measure(told, self, rounds));
            match place {
                Place::OneRuntime => pinned(move || meet_on_one_runtime(server(), client())),
                Place::Threads(placement) => meet(placement, server, client),
            }
        }
    }
}

/// Runs both ends on the first core.
fn pinned(run: impl FnOnce() -> Result<Latency, Error> + Send) -> Result<Latency, Error> {
    run_on(Placement::OneCore.cores()?.0, run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_measures_every_round_everywhere() {
        let rounds = Rounds { warm_up: 2, measured: 20 };
        for program in [Program::Tokio, Program::TokioSpinning, PARK, ADAPT] {
            for place in [Place::OneRuntime, ONE_CORE] {
                let latency = program.run(place, rounds).unwrap();
                assert!(latency.p50_us > 0.0 && latency.p99_us >= latency.p50_us, "{latency:?}");
            }
        }
    }

    #[test]
    fn every_probe_runs() {
        for name in ["tokio", "bertha", "tokio-ready", "bertha-ready"] {
            probe(name, 10).unwrap().unwrap();
        }
    }
}
