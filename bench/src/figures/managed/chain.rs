//! The processes between the application that asks and the application that answers.

use super::customers::Customers;
use super::envoy::Filter;
use super::process::Process;
use super::{SERVICE, by_daemon, by_hand, by_tonic, envoy};
use crate::harness::{in_time, runtime};
use crate::rpc::{Load, Sample};
use crate::{Error, ErrorKind};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A way from one application to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// A TCP socket, with nothing between.
    ByHand,
    /// tonic, with nothing between.
    Tonic,
    /// tonic, with an Envoy on each host.
    Envoys { filter: Filter },
    /// The daemon of a host on which both applications are.
    OneDaemon,
    /// The daemons of both hosts, which speak their own protocol; the daemon of the host that asks has an engine.
    Daemons { engine: Option<&'static str> },
    /// The same daemons, which speak gRPC.
    OverGrpc { engine: Option<&'static str> },
}

/// The processes of a way. They end when the value is dropped.
#[derive(Debug)]
pub(super) struct Chain {
    entrance: Entrance,
    /// The server is first, since it complains of a daemon that ends before it.
    _server: Process,
    /// The processes of the host that asks, then of the other host.
    between: Vec<Process>,
    _folder: TempDir,
}

#[derive(Debug)]
enum Entrance {
    Daemon(PathBuf),
    Grpc(SocketAddr),
    Tcp(SocketAddr),
}

impl Chain {
    /// Starts the processes on the cores of the calling thread.
    pub(super) fn start(way: Way) -> Result<Self, Error> {
        Self::of_threads(way, 1)
    }

    /// Starts the processes, of which the server, and each daemon or Envoy, has so many threads.
    pub(super) fn of_threads(way: Way, threads: usize) -> Result<Self, Error> {
        let folder = TempDir::new().map_err(Error::while_doing(ErrorKind::Core, "making a folder"))?;
        let (entrance, server, between) = match way {
            Way::ByHand => {
                let (server, addr) = serving(&["managed-serve", "--by-hand"])?;
                (Entrance::Tcp(addr), server, Vec::new())
            }
            Way::Tonic => {
                let (server, addr) = by_tonic(threads)?;
                (Entrance::Grpc(addr), server, Vec::new())
            }
            Way::Envoys { filter } => {
                let (server, addr) = by_tonic(threads)?;
                let (there, addr) = envoy::start(folder.path(), addr, Filter::None, threads)?;
                let (here, addr) = envoy::start(folder.path(), addr, filter, threads)?;
                (Entrance::Grpc(addr), server, vec![here, there])
            }
            Way::OneDaemon => {
                let Answering { server, daemon, .. } =
                    Answering::start(folder.path(), Answering::NATIVE, threads)?;
                (Entrance::Daemon(folder.path().join(Answering::SOCKET)), server, vec![daemon])
            }
            Way::Daemons { engine } => {
                return Self::of_daemons(folder, Answering::NATIVE, "", engine, threads);
            }
            Way::OverGrpc { engine } => {
                return Self::of_daemons(folder, Answering::GRPC, "grpc:", engine, threads);
            }
        };
        Ok(Self { entrance, between, _server: server, _folder: folder })
    }

    /// Starts the daemons of both hosts, which are connected at this port.
    fn of_daemons(
        folder: TempDir,
        port: Port,
        scheme: &str,
        engine: Option<&str>,
        threads: usize,
    ) -> Result<Self, Error> {
        let Answering { server, daemon: other, addr } = Answering::start(folder.path(), port, threads)?;
        let here = folder.path().join("here");
        let socket = here.display().to_string();
        let route = format!("{SERVICE}={scheme}{addr}");
        let threads = threads.to_string();
        let mut arguments = vec!["rpcd", "--socket", &socket, "--route", &route, "--threads", &threads];
        let engine = engine.map(|engine| format!("{SERVICE}:{engine}"));
        if let Some(engine) = &engine {
            arguments.extend(["--engine", engine]);
        }
        let mut daemon = Process::of_this_program(&arguments)?;
        daemon.says(ATTACH)?;
        let entrance = Entrance::Daemon(here);
        Ok(Self { entrance, between: vec![daemon, other], _server: server, _folder: folder })
    }

    /// Returns the socket at which applications that ask attach, if there is a daemon.
    pub(super) fn socket(&self) -> Option<&Path> {
        match &self.entrance {
            Entrance::Daemon(socket) => Some(socket),
            Entrance::Grpc(_) | Entrance::Tcp(_) => None,
        }
    }

    /// Makes the calls of a load, on the calling thread.
    pub(super) fn ask(&self, load: Load) -> Result<Sample, Error> {
        self.ask_for(Customers::Alice, load)
    }

    /// Makes the calls of a load for some customers, on the calling thread.
    pub(super) fn ask_for(&self, customers: Customers, load: Load) -> Result<Sample, Error> {
        runtime()?.block_on(in_time(async {
            match &self.entrance {
                Entrance::Daemon(socket) => by_daemon::ask(socket, customers, load).await,
                Entrance::Grpc(addr) => by_tonic::ask(*addr, customers, load).await,
                Entrance::Tcp(addr) => by_hand::ask(*addr, load).await,
            }
        }))
    }

    /// Makes the calls of a load on each of some threads at once, each with a connection of its own. Returns the calls per second of all.
    pub(super) fn ask_on(&self, threads: usize, load: Load) -> Result<f64, Error> {
        std::thread::scope(|scope| {
            let clients: Vec<_> = (0..threads).map(|_| scope.spawn(|| self.ask(load))).collect();
            let panicked = |_| Err(Error::new(ErrorKind::Core, "a measuring thread panicked"));
            let samples = clients.into_iter().map(|client| client.join().unwrap_or_else(panicked));
            samples.map(|sample| sample.map(|it| it.per_second)).sum()
        })
    }

    /// Returns the number of MiB in memory of the process beside the application that asks, if there is one.
    pub(super) fn memory(&self) -> Result<Option<f64>, Error> {
        self.between.first().map(Process::memory).transpose()
    }
}

/// The host that answers: its daemon, and a server at it.
#[derive(Debug)]
pub(super) struct Answering {
    pub(super) server: Process,
    pub(super) daemon: Process,
    /// The address of the port.
    pub(super) addr: String,
}

/// The option by which a daemon listens, and the words by which it says where.
type Port = [&'static str; 2];

/// The words with which a daemon says that applications may attach.
pub(super) const ATTACH: &str = "applications attach at";

impl Answering {
    /// The name of the daemon's socket in its folder.
    pub(super) const SOCKET: &str = "there";

    /// The port for other daemons.
    pub(super) const NATIVE: Port = ["--listen", "daemons connect at"];

    /// The port for callers of gRPC.
    const GRPC: Port = ["--grpc", "callers of gRPC connect at"];

    /// Starts the processes, with their socket in a folder. The server and the daemon have so many threads.
    ///
    /// # Errors
    /// Errors of the processes.
    pub(super) fn start(folder: &Path, [listen, words]: Port, threads: usize) -> Result<Self, Error> {
        let (socket, threads) = (folder.join(Self::SOCKET).display().to_string(), threads.to_string());
        let threads = ["--threads", &threads];
        let listen = [&["rpcd", "--socket", &socket, listen, "127.0.0.1:0"][..], &threads].concat();
        let mut daemon = Process::of_this_program(&listen)?;
        let addr = daemon.says(words)?;
        daemon.says(ATTACH)?;
        let serve = [&["managed-serve", "--socket", &socket][..], &threads].concat();
        let mut server = Process::of_this_program(&serve)?;
        server.says("ready")?;
        Ok(Self { server, daemon, addr })
    }
}

/// Starts the server of tonic with so many threads, and returns its address.
fn by_tonic(threads: usize) -> Result<(Process, SocketAddr), Error> {
    serving(&["managed-serve", "--threads", &threads.to_string()])
}

/// Starts a server, and returns its address.
fn serving(arguments: &[&str]) -> Result<(Process, SocketAddr), Error> {
    let mut server = Process::of_this_program(arguments)?;
    let addr = server.says("ready at")?;
    let addr = addr.parse().map_err(Error::while_doing(ErrorKind::Core, "reading an address"))?;
    Ok((server, addr))
}
