//! Figure 3.5 of the thesis: the latency of requests between two services of a machine.
//!
//! The services are [apart]: each is a process in a network namespace, as in a container. Each block of connections has
//! a server of its own, and the ways take turns. The figure has the order of the thesis, slowest first: TLS is slowest through
//! side-cars, as by the thesis's Ghostunnel. Behind it stand ways that the thesis lacks; tonic's and iceoryx2's ends share a process.

use super::apart::{self, Apart};
use crate::Error;
use crate::harness::{Effort, median, percentile, ratio_of_medians};
use crate::report::{Budget, Report};
use crate::rpc::{Socket, ask_tonic};
use bertha_microservice::Transport;
use bertha_plot::{Spread, spreads};

/// Numbers of connections in the whole figure, and of requests on each.
const CONNECTIONS: usize = 200;
const REQUESTS: usize = 100;

/// Number of connections in a block.
const BLOCK: usize = 20;

/// A way from a service to another service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    SideCars,
    Ours(Transport),
    Tonic(Socket),
    #[cfg(feature = "iceoryx")]
    Iceoryx,
}

const WAYS: &[Way] = &[
    Way::SideCars,
    Way::Ours(Transport::Tls),
    Way::Ours(Transport::Udp),
    Way::Ours(Transport::TlsUnlessLocal),
    Way::Ours(Transport::ShmSpinning),
    Way::Ours(Transport::TlsMaybeLocal),
    Way::Tonic(Socket::Tcp),
    Way::Tonic(Socket::Unix),
    #[cfg(feature = "iceoryx")]
    Way::Iceoryx,
];

/// Budgets of a way's median to that of the way before it in the thesis's order: it is faster, and no faster than can be.
const FALLING: [Budget; 4] = [
    Budget::Between(0.2, 0.9),
    Budget::Between(0.3, 1.0),
    Budget::Between(0.1, 1.0),
    Budget::Between(0.005, 1.0),
];

impl Way {
    fn name(self) -> &'static str {
        match self {
            Self::SideCars => "TLS by side-cars",
            Self::Ours(Transport::Tls) => "TLS in the library, TCP",
            Self::Ours(Transport::TlsMaybeLocal) => "TLS, MaybeLocal, no pass",
            Self::Ours(Transport::Udp) => "UDP",
            Self::Ours(Transport::TlsUnlessLocal) => "TLS, MaybeLocal, the pass",
            Self::Ours(Transport::ShmSpinning) => "shared memory, spinning",
            Self::Ours(Transport::Tcp | Transport::Unix | Transport::Shm) => "another",
            Self::Tonic(Socket::Tcp) => "tonic, TCP, in a process",
            Self::Tonic(Socket::Unix) => "tonic, Unix, in a process",
            #[cfg(feature = "iceoryx")]
            Self::Iceoryx => "iceoryx2, polling, in a process",
        }
    }

    /// Returns the times from request to answer, in microseconds.
    fn ask(self, apart: &Apart, connections: usize, requests: usize) -> Result<Vec<f64>, Error> {
        match self {
            Self::SideCars => apart.ask_through_side_cars(connections, requests),
            Self::Ours(transport) => apart.ask(transport, connections, requests),
            Self::Tonic(socket) => ask_tonic(socket, connections, requests),
            #[cfg(feature = "iceoryx")]
            Self::Iceoryx => super::iceoryx::ask(connections, requests),
        }
    }

    /// Returns the reason why this way is impossible here, if there is one.
    fn lacking(self) -> Option<&'static str> {
        (self == Self::SideCars).then(apart::lacking_side_cars).flatten()
    }
}

/// Adds rows and box plots of all ways.
pub(super) fn measure(report: &mut Report, effort: Effort) -> Result<(), Error> {
    if let Some(reason) = apart::lacking() {
        report.skip("Figure 3.5", reason);
        return Ok(());
    }
    for way in WAYS {
        if let Some(reason) = way.lacking() {
            report.skip(&format!("Figure 3.5, {}", way.name()), reason);
        }
    }
    #[cfg(not(feature = "iceoryx"))]
    report.skip(
        "Figure 3.5, iceoryx2, polling",
        "built without it: `--features iceoryx`, which needs libclang",
    );
    let (connections, requests) = effort.pick((CONNECTIONS, REQUESTS), (CONNECTIONS / 5, REQUESTS));
    let Some(apart) = report.unless_impossible("Figure 3.5", Apart::new())? else { return Ok(()) };
    let mut blocks: Vec<_> = WAYS.iter().map(|_| Vec::new()).collect();
    for number in 0..connections / BLOCK {
        for at in 0..WAYS.len() {
            // The ways run forwards and backwards in turn, so that drift of the machine affects all alike.
            let at = if number % 2 == 0 { at } else { WAYS.len() - 1 - at };
            if WAYS[at].lacking().is_some() {
                continue;
            }
            let asked = report.unless_impossible("Figure 3.5", WAYS[at].ask(&apart, BLOCK, requests))?;
            let Some(asked) = asked else { return Ok(()) };
            blocks[at].push(asked);
        }
    }
    let mut plots = Vec::new();
    for (way, blocks) in WAYS.iter().zip(&blocks).filter(|(_, blocks)| !blocks.is_empty()) {
        let times = blocks.concat();
        for percent in [5, 25, 50, 75, 95] {
            let value = percentile(&times, f64::from(percent) / 100.0).unwrap_or(f64::NAN);
            report.figure(format!("Figure 3.5, {}, p{percent}", way.name()), value, "us");
        }
        plots.extend(Spread::of(way.name(), &times));
    }
    for (at, budget) in FALLING.into_iter().enumerate() {
        let (slower, faster) = (at, at + 1);
        if blocks[slower].is_empty() {
            continue;
        }
        let middle = |at: usize| blocks[at].iter().map(|block| median(block).unwrap_or(f64::NAN));
        let pairs: Vec<_> = middle(faster).zip(middle(slower)).collect();
        let name = format!("Figure 3.5, p50: {} to {}", WAYS[faster].name(), WAYS[slower].name());
        report.ratio(name, ratio_of_medians(&pairs, 0), Some(budget));
    }
    report.draw("local.svg", spreads("From request to answer on one machine", &plots))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_in_one_process_is_asked() {
        if crate::harness::usable().unwrap().len() < 2 {
            return;
        }
        for socket in [Socket::Tcp, Socket::Unix] {
            assert_eq!(ask_tonic(socket, 3, 10).unwrap().len(), 30);
        }
    }
}
