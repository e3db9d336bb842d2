//! An echo over two DPDK ports that share memory, one core a side: frames that the server turns round by hand, against the
//! network stack and Bertha's connection; and against as much as any server has to do by hand that checks what it is told, and
//! whose answers can be checked.
//!
//! The client is the same for all, and bare: it keeps a number of frames on the way, and turns each echo round to be the next
//! request. So what differs is the server.

mod bare;
mod by_hand;
mod load;
mod stack;

use crate::cores::{self, Placement};
use crate::latency::Latency;
use crate::{Error, ErrorKind};
use bertha_datapath_dpdk::{Config, Port};
use load::Client;
use std::net::Ipv4Addr;
use std::path::PathBuf;

pub use bare::Bare;
pub use by_hand::ByHand;
pub use stack::{Stack, Unchecked};

/// The address of servers.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

/// The port at which they listen.
const PORT: u16 = 9;

/// What to send.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// Bytes of a message.
    pub len: usize,
    /// Messages on the way while throughput is measured.
    pub outstanding: usize,
    /// Messages whose rate is measured.
    pub messages: u64,
    /// Round trips, one at a time, that are timed.
    pub rounds: u64,
}

/// What came of it.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Echoes in a second, with many on the way.
    pub messages_per_second: f64,
    /// The time of one echo, with none beside it.
    pub latency: Latency,
}

/// A client and a server with a port each, joined by shared memory.
#[derive(Debug)]
pub struct Pair<S> {
    client: Client,
    server: S,
    cores: (usize, usize),
}

/// A server that echoes until it is sent a message of a single byte.
pub trait Serve: Send + Sized {
    /// Opens its port and whatever it needs.
    ///
    /// # Errors
    /// [`ErrorKind::Bertha`] if that fails.
    fn open(config: &Config) -> Result<Self, Error>;

    /// Echoes.
    ///
    /// # Errors
    /// [`ErrorKind::Bertha`] if that fails.
    fn serve(&mut self) -> Result<(), Error>;
}

impl<S: Serve> Pair<S> {
    /// Opens both ports. `number` tells pairs apart.
    ///
    /// # Errors
    /// [`ErrorKind::Core`] with fewer than two cores, [`ErrorKind::Bertha`] if DPDK or a port is missing.
    pub fn open(number: u32) -> Result<Self, Error> {
        // Of several pairs in a process, all have to fit into the memory that DPDK took when the first was opened.
        let end = |side, role, address: &str| Config { buffers: 4095, ..config(number, side, role, address) };
        let server = end(0, "server", &format!("{ADDRESS}/24"));
        let server = cores::run_on(cores::usable()?[0], || S::open(&server))?;
        let port = Port::open(&end(1, "client", "10.0.0.2/24")).map_err(failed("opening a port"))?;
        Ok(Self { client: Client::new(port), server, cores: Placement::AcrossCores.cores()? })
    }

    /// Measures once.
    ///
    /// # Errors
    /// [`ErrorKind::Stalled`] if echoes stay away.
    pub fn run(&mut self, load: Load) -> Result<Sample, Error> {
        let Self { client, server, cores } = self;
        let (client_core, server_core) = *cores;
        std::thread::scope(|scope| {
            let serving = scope.spawn(|| cores::pin(server_core).and_then(|()| server.serve()));
            let measuring = scope.spawn(|| cores::pin(client_core).and_then(|()| client.measure(load)));
            let sample = cores::join(measuring);
            cores::join(serving)?;
            sample
        })
    }
}

/// A port of a pair, one side of shared memory. `number` tells pairs apart.
pub fn config(number: u32, side: u32, role: &str, address: &str) -> Config {
    let socket: PathBuf = std::env::temp_dir().join(format!("bertha-bench-{}-{number}", std::process::id()));
    let device = format!(
        "net_memif{},role={role},id=0,socket={},socket-abstract=no",
        2 * number + side,
        socket.display()
    );
    Config { buffers: 8191, ..Config::new(device, address) }
}

fn failed(doing: &'static str) -> impl FnOnce(bertha_core::Error) -> Error {
    Error::while_doing(ErrorKind::Bertha, doing)
}
