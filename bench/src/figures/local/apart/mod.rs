//! Two services of a machine, each a process in a network namespace of its own, as in a container; a pair of virtual Ethernet
//! interfaces joins the namespaces.

mod end;
mod side_cars;

pub(crate) use end::{AskOptions, ServeOptions, ask, serve};

use super::failed;
use crate::figures::namespace::{Namespace, has_program, ip};
use crate::harness::{Placement, run_on};
use crate::{Error, ErrorKind};
use bertha_core::Addr;
use bertha_microservice::{Site, Transport};
use clap::ValueEnum;
use side_cars::SideCars;
use std::io::{BufRead, BufReader};
use std::net::Ipv4Addr;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// Addresses of the client's and the server's interfaces.
const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 98, 0, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 98, 0, 2);

/// Returns the reason why this machine can't have the namespaces, if there is one.
pub(super) fn lacking() -> Option<&'static str> {
    if !rustix::process::geteuid().is_root() {
        Some("it needs root, for network namespaces")
    } else if !has_program("ip") {
        Some("it needs ip, of iproute2")
    } else {
        None
    }
}

/// Returns the reason why there are no side-cars here, if there is one.
pub(super) fn lacking_side_cars() -> Option<&'static str> {
    (!has_program("stunnel")).then_some("it needs stunnel: apt-get install stunnel4")
}

/// Two namespaces and the site of their services.
#[derive(Debug)]
pub(super) struct Apart {
    client: Namespace,
    server: Namespace,
    folder: TempDir,
}

impl Apart {
    pub(super) fn new() -> Result<Self, Error> {
        let folder = TempDir::new().map_err(Error::while_doing(ErrorKind::Socket, "making a folder"))?;
        let [client, server] = ["client", "server"].map(Namespace::new);
        let (client, server) = (client?, server?);
        ip(&[
            "link",
            "add",
            "eth0",
            "netns",
            client.name(),
            "type",
            "veth",
            "peer",
            "name",
            "eth0",
            "netns",
            server.name(),
        ])?;
        for (end, address) in [(&client, CLIENT), (&server, SERVER)] {
            end.ip(&["addr", "add", &format!("{address}/24"), "dev", "eth0"])?;
            end.ip(&["link", "set", "eth0", "up"])?;
        }
        // It makes the certificate, which both ends read.
        Site::new(folder.path()).server().map_err(failed)?;
        Ok(Self { client, server, folder })
    }

    /// Returns the times from request to answer over a transport, in microseconds and in their order.
    pub(super) fn ask(
        &self,
        transport: Transport,
        connections: usize,
        requests: usize,
    ) -> Result<Vec<f64>, Error> {
        let on = match transport.has_paths() {
            true => Addr::Unix(self.folder.path().join(format!("{:08x}.sock", rand::random::<u32>()))),
            false => (SERVER, 0).into(),
        };
        let service = self.serve(transport, &on)?;
        self.times(transport, &service.addr, connections, requests)
    }

    /// Returns the times as [`ask`](Self::ask) does, of a service over plain TCP, behind whose ends a pair of side-cars speaks TLS.
    pub(super) fn ask_through_side_cars(
        &self,
        connections: usize,
        requests: usize,
    ) -> Result<Vec<f64>, Error> {
        let service = self.serve(Transport::Tcp, &(Ipv4Addr::LOCALHOST, 0).into())?;
        let _side_cars = SideCars::start(self, &service.addr)?;
        self.times(Transport::Tcp, &side_cars::ENTRANCE.into(), connections, requests)
    }

    fn serve(&self, transport: Transport, on: &Addr) -> Result<Service, Error> {
        let (_, core) = Placement::AcrossCores.cores()?;
        let mut command = self.end(&self.server, "local-serve", transport, on)?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let child = run_on(core, || command.spawn().map_err(starting))?;
        let mut child = Process(child);
        let mut said = String::new();
        let stdout =
            child.0.stdout.take().ok_or_else(|| Error::new(ErrorKind::Core, "a service has no output"))?;
        BufReader::new(stdout).read_line(&mut said).map_err(starting)?;
        let addr = said.trim().parse().map_err(Error::while_doing(
            ErrorKind::Bertha,
            "reading a service's address; its error is above",
        ))?;
        Ok(Service { _process: child, addr })
    }

    fn times(
        &self,
        transport: Transport,
        to: &Addr,
        connections: usize,
        requests: usize,
    ) -> Result<Vec<f64>, Error> {
        let (core, _) = Placement::AcrossCores.cores()?;
        let mut command = self.end(&self.client, "local-ask", transport, to)?;
        command.args(["--connections", &connections.to_string(), "--requests", &requests.to_string()]);
        let output = run_on(core, || command.stderr(Stdio::inherit()).output().map_err(starting))?;
        if !output.status.success() {
            return Err(Error::new(ErrorKind::Bertha, "asking a service failed; its error is above"));
        }
        serde_json::from_slice(&output.stdout).map_err(Error::while_doing(ErrorKind::Report, "reading times"))
    }

    /// Returns the command of an end.
    fn end(&self, at: &Namespace, what: &str, transport: Transport, addr: &Addr) -> Result<Command, Error> {
        let program = std::env::current_exe().map_err(starting)?;
        let mut command = at.command(program);
        let name = transport.to_possible_value().map(|it| it.get_name().to_owned()).unwrap_or_default();
        command.arg(what).arg("--site").arg(self.folder.path()).args([
            "--transport",
            &name,
            &addr.to_string(),
        ]);
        Ok(command)
    }
}

/// A service, which ends when the value is dropped.
struct Service {
    _process: Process,
    addr: Addr,
}

/// A process that is killed when the value is dropped.
#[derive(Debug)]
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // The process may have ended by itself.
        let _ = (self.0.kill(), self.0.wait());
    }
}

fn starting(error: std::io::Error) -> Error {
    Error::while_doing(ErrorKind::Core, "running an end of two services")(error)
}
