//! The processes between the application that asks and the application that answers.

use super::process::Process;
use super::{SERVICE, by_daemon, by_tonic, envoy};
use crate::harness::{in_time, runtime};
use crate::rpc::{Load, Sample};
use crate::{Error, ErrorKind};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A way from one application to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// tonic, with nothing between.
    Tonic,
    /// tonic, with an Envoy on each host.
    Envoys { is_limited: bool },
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
}

impl Chain {
    /// Starts the processes on the cores of the calling thread.
    pub(super) fn start(way: Way) -> Result<Self, Error> {
        let folder = TempDir::new().map_err(Error::while_doing(ErrorKind::Core, "making a folder"))?;
        match way {
            Way::Tonic => {
                let (server, addr) = by_tonic()?;
                Ok(Self {
                    entrance: Entrance::Grpc(addr),
                    between: Vec::new(),
                    _server: server,
                    _folder: folder,
                })
            }
            Way::Envoys { is_limited } => {
                let (server, addr) = by_tonic()?;
                let (there, addr) = envoy::start(folder.path(), addr, false)?;
                let (here, addr) = envoy::start(folder.path(), addr, is_limited)?;
                let between = vec![here, there];
                Ok(Self { entrance: Entrance::Grpc(addr), between, _server: server, _folder: folder })
            }
            Way::Daemons { engine } => {
                Self::of_daemons(folder, ["--listen", "daemons connect at"], "", engine)
            }
            Way::OverGrpc { engine } => {
                Self::of_daemons(folder, ["--grpc", "callers of gRPC connect at"], "grpc:", engine)
            }
        }
    }

    /// Starts a daemon that listens by an option and says so by some words, and one that leads calls to it.
    fn of_daemons(
        folder: TempDir,
        [listen, words]: [&str; 2],
        scheme: &str,
        engine: Option<&str>,
    ) -> Result<Self, Error> {
        let [here, there] = ["here", "there"].map(|name| folder.path().join(name).display().to_string());
        let mut other = Process::of_this_program(&["rpcd", "--socket", &there, listen, "127.0.0.1:0"])?;
        let addr = other.says(words)?;
        other.says("applications attach at")?;
        let mut server = Process::of_this_program(&["managed-serve", "--socket", &there])?;
        server.says("ready")?;
        let route = format!("{SERVICE}={scheme}{addr}");
        let mut arguments = vec!["rpcd", "--socket", &here, "--route", &route];
        let engine = engine.map(|engine| format!("{SERVICE}:{engine}"));
        if let Some(engine) = &engine {
            arguments.extend(["--engine", engine]);
        }
        let mut daemon = Process::of_this_program(&arguments)?;
        daemon.says("applications attach at")?;
        let entrance = Entrance::Daemon(here.into());
        Ok(Self { entrance, between: vec![daemon, other], _server: server, _folder: folder })
    }

    /// Makes the calls of a load, on the calling thread.
    pub(super) fn ask(&self, load: Load) -> Result<Sample, Error> {
        runtime()?.block_on(in_time(async {
            match &self.entrance {
                Entrance::Daemon(socket) => by_daemon::ask(socket, load).await,
                Entrance::Grpc(addr) => by_tonic::ask(*addr, load).await,
            }
        }))
    }

    /// Returns the socket at which applications that ask attach, if there is a daemon.
    pub(super) fn socket(&self) -> Option<&Path> {
        match &self.entrance {
            Entrance::Daemon(socket) => Some(socket),
            Entrance::Grpc(_) => None,
        }
    }

    /// Returns the number of MiB in memory of the process beside the application that asks, if there is one.
    pub(super) fn memory(&self) -> Result<Option<f64>, Error> {
        self.between.first().map(Process::memory).transpose()
    }
}

/// Starts the server of tonic, and returns its address.
fn by_tonic() -> Result<(Process, SocketAddr), Error> {
    let mut server = Process::of_this_program(&["managed-serve"])?;
    let addr = server.says("ready at")?;
    let addr = addr.parse().map_err(Error::while_doing(ErrorKind::Core, "reading an address"))?;
    Ok((server, addr))
}
