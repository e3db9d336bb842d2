//! A pair of side-cars that speaks TLS for two services: stunnel beside each of them.

use super::{Apart, Process, SERVER, starting};
use crate::figures::namespace::Namespace;
use crate::harness::{Placement, run_on};
use crate::{Error, ErrorKind};
use bertha_core::Addr;
use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// The place at which the client finds its side-car, and the place at which that finds the service's.
pub(super) const ENTRANCE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 4433);
const EXIT: SocketAddr = SocketAddr::new(IpAddr::V4(SERVER), 4434);

/// Longest time until a side-car accepts.
const START: Duration = Duration::from_secs(5);

/// Settings of both: a service's messages are small, and each leaves at once.
const COMMON: &str = "foreground = yes\npid =\nsyslog = no\ndebug = err\n\
                      socket = l:TCP_NODELAY=1\nsocket = r:TCP_NODELAY=1\n";

/// Two side-cars, which end when the value is dropped.
pub(super) struct SideCars {
    _client: Process,
    _server: Process,
}

impl SideCars {
    /// Starts a side-car in each namespace, on the core of its service, and waits until both accept.
    pub(super) fn start(apart: &Apart, service: &Addr) -> Result<Self, Error> {
        let folder = apart.folder.path();
        let (client_core, server_core) = Placement::AcrossCores.cores()?;
        let [certificate, key] =
            ["certificate.pem", "key.pem"].map(|name| folder.join(name).display().to_string());
        let server =
            format!("[echo]\naccept = {EXIT}\nconnect = {service}\ncert = {certificate}\nkey = {key}\n");
        let client = format!(
            "[echo]\nclient = yes\naccept = {ENTRANCE}\nconnect = {EXIT}\nCAfile = {certificate}\nverifyChain = yes\n\
             checkHost = microservice\n"
        );
        let server = start(&apart.server, &folder.join("server.conf"), &server, server_core)?;
        let client = start(&apart.client, &folder.join("client.conf"), &client, client_core)?;
        for (addr, name) in [(EXIT, "server.log"), (ENTRANCE, "client.log")] {
            // Its words are of use only then: it complains of each connection that is closed at once.
            let said = || std::fs::read_to_string(folder.join(name)).unwrap_or_default();
            wait_for(&apart.client, addr).map_err(|error| error.because(said()))?;
        }
        Ok(Self { _client: client, _server: server })
    }
}

fn start(at: &Namespace, settings: &Path, content: &str, core: usize) -> Result<Process, Error> {
    std::fs::write(settings, format!("{COMMON}{content}")).map_err(starting)?;
    let mut command = at.command("stunnel");
    let log = File::create(settings.with_extension("log")).map_err(starting)?;
    command.arg(settings).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    run_on(core, || command.spawn().map_err(starting)).map(Process)
}

/// Waits until a connection to the address is accepted.
fn wait_for(from: &Namespace, addr: SocketAddr) -> Result<(), Error> {
    let connect = || {
        from.enter()?;
        let started = Instant::now();
        while started.elapsed() < START {
            if TcpStream::connect(addr).is_ok() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Err(Error::new(ErrorKind::Stalled, format!("stunnel does not accept at {addr}")))
    };
    std::thread::scope(|scope| {
        let panicked = |_| Err(Error::new(ErrorKind::Core, "waiting for a side-car panicked"));
        scope.spawn(connect).join().unwrap_or_else(panicked)
    })
}
