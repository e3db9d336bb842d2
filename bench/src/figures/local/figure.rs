//! Figure 3.5 of the thesis: the latency of requests between two services of a machine.
//!
//! Each block of connections has a server of its own, and the ways take turns. The figure has the order of
//! the thesis, slowest first.

use super::failed;
use crate::harness::{Effort, Placement, median, meet, percentile, ratio_of_medians};
use crate::report::{Budget, Report};
use crate::rpc::{Socket, ask_tonic};
use crate::{Error, ErrorKind};
use bertha_core::Addr;
use bertha_local::directory::Rules;
use bertha_local::directory::server::DirectoryServer;
use bertha_microservice::load::{self, Load};
use bertha_microservice::{Site, Transport, services};
use bertha_plot::{Spread, spreads};
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::oneshot;

/// Numbers of connections in the whole figure, and of requests on each.
const CONNECTIONS: usize = 200;
const REQUESTS: usize = 100;

/// Number of connections in a block.
const BLOCK: usize = 20;

/// Budget of a way against the previous way in the figure: it is faster.
const FASTER: Budget = Budget::AtMost(1.0);

/// A way from a service to another service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Ours(Transport),
    Tonic(Socket),
    #[cfg(feature = "iceoryx")]
    Iceoryx,
}

const WAYS: &[Way] = &[
    Way::Ours(Transport::TlsMaybeLocal),
    Way::Ours(Transport::Udp),
    Way::Ours(Transport::TlsUnlessLocal),
    Way::Ours(Transport::ShmSpinning),
    Way::Tonic(Socket::Tcp),
    Way::Tonic(Socket::Unix),
    #[cfg(feature = "iceoryx")]
    Way::Iceoryx,
];

/// Number of ways in the thesis's order: each of these is faster than the way before.
const FALLING: usize = 4;

impl Way {
    fn name(self) -> &'static str {
        match self {
            Self::Ours(Transport::TlsMaybeLocal) => "TLS, without the pass",
            Self::Ours(Transport::Udp) => "UDP",
            Self::Ours(Transport::TlsUnlessLocal) => "MaybeLocal, with the pass",
            Self::Ours(Transport::ShmSpinning) => "shared memory, spinning",
            Self::Ours(Transport::Tcp | Transport::Tls | Transport::Unix | Transport::Shm) => "another",
            Self::Tonic(Socket::Tcp) => "tonic, TCP",
            Self::Tonic(Socket::Unix) => "tonic, Unix socket",
            #[cfg(feature = "iceoryx")]
            Self::Iceoryx => "iceoryx2, polling",
        }
    }

    /// Returns the times from request to answer, in microseconds.
    fn ask(self, connections: usize, requests: usize) -> Result<Vec<f64>, Error> {
        match self {
            Self::Ours(transport) => services(transport, connections, requests),
            Self::Tonic(socket) => ask_tonic(socket, connections, requests),
            #[cfg(feature = "iceoryx")]
            Self::Iceoryx => super::iceoryx::ask(connections, requests),
        }
    }
}

fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Adds rows and box plots of all ways.
pub(super) fn measure(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let (connections, requests) = effort.pick((CONNECTIONS, REQUESTS), (CONNECTIONS / 5, REQUESTS));
    let mut blocks: Vec<_> = WAYS.iter().map(|_| Vec::new()).collect();
    for number in 0..connections / BLOCK {
        for at in 0..WAYS.len() {
            // The ways run forwards and backwards in turn, so that drift of the machine affects all alike.
            let at = if number % 2 == 0 { at } else { WAYS.len() - 1 - at };
            let asked = report.unless_impossible("Figure 3.5", WAYS[at].ask(BLOCK, requests))?;
            let Some(asked) = asked else { return Ok(()) };
            blocks[at].push(asked);
        }
    }
    #[cfg(not(feature = "iceoryx"))]
    report.skip(
        "Figure 3.5, iceoryx2, polling",
        "built without it: `--features iceoryx`, which needs libclang",
    );
    let mut plots = Vec::new();
    for (way, blocks) in WAYS.iter().zip(&blocks) {
        let times = blocks.concat();
        for percent in [5, 25, 50, 75, 95] {
            let value = percentile(&times, f64::from(percent) / 100.0).unwrap_or(f64::NAN);
            report.figure(format!("Figure 3.5, {}, p{percent}", way.name()), value, "us");
        }
        plots.extend(Spread::of(way.name(), &times));
    }
    for (slower, faster) in (1..FALLING).map(|at| (at - 1, at)) {
        let middle = |at: usize| blocks[at].iter().map(|block| median(block).unwrap_or(f64::NAN));
        let pairs: Vec<_> = middle(faster).zip(middle(slower)).collect();
        let name = format!("Figure 3.5, p50: {} to {}", WAYS[faster].name(), WAYS[slower].name());
        report.ratio(name, ratio_of_medians(&pairs, 0), Some(FASTER));
    }
    report.draw("local.svg", spreads("From request to answer on one machine", &plots))
}

/// Runs the echo of `bertha-microservice`, and its load, each on a core of its own.
fn services(transport: Transport, connections: usize, requests: usize) -> Result<Vec<f64>, Error> {
    let folder = TempDir::new().map_err(Error::while_doing(ErrorKind::Socket, "making a folder"))?;
    let site = Site::new(folder.path());
    let on = match transport.has_paths() {
        true => Addr::Unix(folder.path().join("echo.sock")),
        false => ([127, 0, 0, 1], 0).into(),
    };
    let ((tell, told), (done, over)) = (oneshot::channel(), oneshot::channel::<()>());
    let load = Load { connections: connections as u64, requests: requests as u64 };
    meet(
        Placement::AcrossCores,
        || async {
            let directory = DirectoryServer::listen(folder.path().join("directory.sock"), Rules::new());
            let directory = directory.map_err(failed)?;
            let served = async {
                let echo = transport.serve(&site, "echo", on, services::echo()).await.map_err(failed)?;
                let _ = tell.send(echo.addr.clone());
                // A failed end is over, too.
                let _ = over.await;
                Ok(())
            };
            tokio::select! {
                ended = directory.serve() => ended.map_err(failed),
                served = served => served,
            }
        },
        || async {
            let _done = done;
            let addr = told.await.map_err(Error::while_doing(ErrorKind::Bertha, "waiting for the echo"))?;
            let asked = load::ask(transport, &site, &addr, load).await.map_err(failed)?;
            // The times are in their order, so percentiles of all blocks together follow from these.
            let per_block = (connections * requests) as u64;
            let quantile = |at| microseconds(asked.quantile(at as f64 / per_block as f64));
            Ok((1..=per_block).map(quantile).collect())
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_is_asked() {
        if crate::harness::usable().unwrap().len() < 2 {
            return;
        }
        for way in WAYS {
            let asked = way.ask(3, 10).unwrap();
            assert_eq!(asked.len(), 30, "{way:?}");
            assert!(asked.iter().all(|time| *time > 0.0), "{way:?}: {asked:?}");
        }
    }
}
