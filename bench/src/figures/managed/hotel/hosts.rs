//! The hosts of a hotel. Each has a service, and a daemon or an Envoy beside it.

use super::super::envoy;
use super::super::process::Process;
use crate::harness::runtime;
use crate::{Error, ErrorKind};
use bertha_microservice::hotel::Role;
use bertha_microservice::hotel::load::{Answered, Load};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;
use tempfile::TempDir;

/// A way of calls between services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Daemons, in each of which a call passes an engine that does nothing.
    Daemons,
    /// tonic, with nothing between.
    Tonic,
    /// tonic, through the Envoys of the caller's host and of the server's host.
    Envoys,
}

/// The processes of all hosts. They end when the value is dropped.
#[derive(Debug)]
pub(super) struct Hosts {
    front: SocketAddr,
    /// The services are first, since they complain of a daemon that ends before them.
    services: Vec<Process>,
    beside: Vec<Process>,
    _folder: TempDir,
}

impl Hosts {
    /// Starts the processes on the cores of the calling thread.
    pub(super) fn start(way: Way, cache: &str) -> Result<Self, Error> {
        let folder = TempDir::new().map_err(Error::while_doing(ErrorKind::Core, "making a folder"))?;
        let mut starting = Starting { way, folder: folder.path(), addrs: HashMap::new(), beside: Vec::new() };
        let (mut services, mut last) = (Vec::new(), None);
        for role in Role::ALL {
            let (service, addr) = starting.service(role, cache)?;
            services.push(service);
            last = addr;
        }
        let beside = starting.beside;
        let front = last.ok_or_else(|| Error::new(ErrorKind::Core, "the front end has no address"))?;
        Ok(Self { front, services, beside, _folder: folder })
    }

    /// Makes the searches of a load, on the calling thread.
    pub(super) fn search(&self, load: Load) -> Result<Vec<Answered>, Error> {
        let searched = runtime()?.block_on(load.run(self.front));
        searched.map_err(Error::while_doing(ErrorKind::Bertha, "searching hotels"))
    }

    /// Returns the memory of what stands beside each service.
    pub(super) fn memory_beside(&self) -> Result<Vec<Memory>, Error> {
        self.beside.iter().map(Memory::of).collect()
    }

    /// Returns the memory of each service.
    pub(super) fn memory(&self) -> Result<Vec<(Role, Memory)>, Error> {
        let services = Role::ALL.into_iter().zip(&self.services);
        services.map(|(role, process)| Ok((role, Memory::of(process)?))).collect()
    }
}

/// The memory of a process, in MiB.
#[derive(Clone, Copy, Debug)]
pub(super) struct Memory {
    /// The most that was in memory at once.
    pub(super) peak: f64,
    /// The memory without the program's file.
    pub(super) own: f64,
}

impl Memory {
    fn of(process: &Process) -> Result<Self, Error> {
        Ok(Self { peak: process.peak_memory()?, own: process.own_memory()? })
    }
}

/// The hosts so far.
struct Starting<'a> {
    way: Way,
    folder: &'a Path,
    /// The addresses at which other hosts reach services: of daemons, of Envoys, or of the services themselves.
    addrs: HashMap<Role, SocketAddr>,
    beside: Vec<Process>,
}

impl Starting<'_> {
    /// Starts a service and what stands beside it. Returns its process, and its own address, if it has one.
    fn service(&mut self, role: Role, cache: &str) -> Result<(Process, Option<SocketAddr>), Error> {
        let mut arguments = vec!["hotel-serve".to_owned(), role.name().to_owned()];
        if [Role::Rate, Role::Profile].contains(&role) {
            arguments.extend(["--cache".into(), cache.into()]);
        }
        let next: Vec<_> = role.calls().iter().map(|next| (next.name(), self.addrs[next])).collect();
        match self.way {
            Way::Daemons => arguments.extend(["--daemon".into(), self.daemon(role, &next)?]),
            Way::Tonic => arguments.extend(next_options(&next)),
            Way::Envoys => arguments.extend(self.envoy(role, &next)?),
        }
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let mut service = Process::of_this_program(&arguments)?;
        let said = service.says(&format!("{} serves", role.name()))?;
        let addr = said.strip_prefix("at ").map(read).transpose()?;
        if let (Some(addr), Way::Tonic) = (addr, self.way) {
            self.addrs.insert(role, addr);
        }
        Ok((service, addr))
    }

    /// Starts the Envoy of a service, which has what it sends and what it gets. Returns the options of the service.
    fn envoy(&mut self, role: Role, next: &[(&str, SocketAddr)]) -> Result<Vec<String>, Error> {
        let mut servers: Vec<_> = next.iter().map(|(_, addr)| *addr).collect();
        let mut options = Vec::new();
        // People reach the front end itself.
        let is_called = role != Role::Front;
        if is_called {
            let own = envoy::unused(1)?[0];
            servers.push(own);
            options.extend(["--on".into(), own.to_string()]);
        }
        let (envoy, mut here) = envoy::start_before(self.folder, &servers, envoy::Filter::None, 1)?;
        self.beside.push(envoy);
        if let Some(addr) = here.pop_if(|_| is_called) {
            self.addrs.insert(role, addr);
        }
        let next: Vec<_> = next.iter().zip(here).map(|((name, _), addr)| (*name, addr)).collect();
        options.extend(next_options(&next));
        Ok(options)
    }

    /// Starts the daemon of a service. Returns its socket.
    fn daemon(&mut self, role: Role, next: &[(&str, SocketAddr)]) -> Result<String, Error> {
        let socket = self.folder.join(role.name()).display().to_string();
        let mut arguments: Vec<String> =
            ["rpcd", "--socket", &socket, "--listen", "127.0.0.1:0"].map(Into::into).into();
        for (name, addr) in next {
            arguments.extend([
                "--route".into(),
                format!("{name}={addr}"),
                "--engine".into(),
                format!("{name}:null"),
            ]);
        }
        if role != Role::Front {
            arguments.extend(["--engine".into(), format!("{}:null", role.name())]);
        }
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let mut daemon = Process::of_this_program(&arguments)?;
        let addr = read(&daemon.says("daemons connect at")?)?;
        daemon.says("applications attach at")?;
        self.addrs.insert(role, addr);
        self.beside.push(daemon);
        Ok(socket)
    }
}

fn next_options(next: &[(&str, SocketAddr)]) -> Vec<String> {
    next.iter().flat_map(|(name, addr)| ["--next".to_owned(), format!("{name}={addr}")]).collect()
}

fn read(addr: &str) -> Result<SocketAddr, Error> {
    addr.parse().map_err(Error::while_doing(ErrorKind::Core, "reading an address"))
}
