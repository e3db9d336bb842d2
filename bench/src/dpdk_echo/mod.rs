//! The program `bertha-bench dpdk-echo`: an echo over two DPDK ports that share memory, a core for each side:
//! Bertha's datapath, against a server by hand that verifies its input, and whose answers can be verified.
//!
//! The client is common to both, and bare: it keeps a number of frames in flight, and turns each echo into
//! the next request. So the server makes the difference.

mod by_hand;
mod load;
mod stack;

use crate::harness::{self, Effort, Latency, Placement, alternate};
use crate::memif::config;
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use bertha_datapath_dpdk::{Config, Port};
use by_hand::ByHand;
use load::Client;
use stack::Stack;
use std::net::Ipv4Addr;

/// Address of servers, and their port.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const PORT: u16 = 9;

/// The messages of a sample.
#[derive(Debug, Clone, Copy)]
struct Load {
    /// Number of bytes in a message.
    len: usize,
    /// Number of messages in flight while throughput is measured.
    in_flight: usize,
    /// Number of messages whose rate is measured.
    messages: u64,
    /// Number of round trips, one at a time, that are timed.
    rounds: u64,
}

/// The figures of a run of a server.
#[derive(Debug, Clone, Copy)]
struct Sample {
    /// Echoes in a second, with many in flight.
    messages_per_second: f64,
    /// Time of a single echo.
    latency: Latency,
}

/// Budget of Bertha against the server by hand.
const THROUGHPUT: Budget = Budget::AtLeast(0.95);
const LATENCY: Budget = Budget::AtMost(1.1);

/// Measures the rows.
///
/// # Errors
/// [`ErrorKind::Core`] with fewer than two cores, [`ErrorKind::Bertha`] if DPDK or a port is missing, [`ErrorKind::Stalled`]
/// if echoes are lost.
pub(crate) fn run(effort: Effort) -> Result<Report, Error> {
    let messages = effort.pick(1_000_000, 200_000);
    let load = Load { len: 64, in_flight: 128, messages, rounds: effort.pick(50_000, 10_000) };
    let mut by_hand = Pair::<ByHand>::open(0)?;
    let mut stack = Pair::<Stack>::open(1)?;
    let paired = alternate(effort.pairs(), || by_hand.run(load), || stack.run(load))?;
    let mut report = Report::new("dpdk-echo");
    let throughput = |it: &Sample| it.messages_per_second;
    report.compare("messages per second, Bertha to by hand", &paired, throughput, Some(THROUGHPUT));
    report.compare("p50, Bertha to by hand", &paired, |it| it.latency.p50_us, Some(LATENCY));
    for (name, samples) in [("by hand", paired.a()), ("Bertha", paired.b())] {
        report.median(format!("{name}, throughput"), &samples, throughput, "messages/s");
        report.median(format!("{name}, p50"), &samples, |it| it.latency.p50_us, "us");
        report.median(format!("{name}, p99"), &samples, |it| it.latency.p99_us, "us");
    }
    Ok(report)
}

/// A client and a server with a port each, joined by shared memory.
#[derive(Debug)]
struct Pair<S> {
    client: Client,
    server: S,
}

/// A server that echoes until it receives a message of a single byte.
trait Serve: Send + Sized {
    /// Opens the port and all other needs of the server.
    fn open(config: &Config) -> Result<Self, Error>;

    /// Runs the server.
    fn serve(&mut self) -> Result<(), Error>;
}

impl<S: Serve> Pair<S> {
    /// Opens both ports. `number` tells pairs apart.
    fn open(number: u32) -> Result<Self, Error> {
        // All pairs of a process have to fit into the memory that DPDK took when the first pair was opened.
        let end = |side, role, address: &str| Config { buffers: 4095, ..config(number, side, role, address) };
        let server = end(0, "server", &format!("{ADDRESS}/24"));
        let server = harness::run_on(harness::usable()?[0], || S::open(&server))?;
        let port = Port::open(&end(1, "client", "10.0.0.2/24")).map_err(failed("opening a port"))?;
        Ok(Self { client: Client::new(port), server })
    }

    fn run(&mut self, load: Load) -> Result<Sample, Error> {
        let Self { client, server } = self;
        let (client_core, server_core) = Placement::AcrossCores.cores()?;
        std::thread::scope(|scope| {
            let serving = scope.spawn(|| harness::pin(server_core).and_then(|()| server.serve()));
            let sample = harness::run_on(client_core, || client.measure(load));
            serving.join().unwrap_or_else(|_| Err(Error::new(ErrorKind::Core, "the server panicked")))?;
            sample
        })
    }
}

fn failed(doing: &'static str) -> impl FnOnce(bertha_core::Error) -> Error {
    Error::while_doing(ErrorKind::Bertha, doing)
}
