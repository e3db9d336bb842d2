//! The command line of the daemon.

use crate::admission::grpc_tls::GrpcOptions;
use crate::libraries::trial;
use crate::parties::reserved_names;
use crate::program::threads;
use crate::{Change, Daemon, Operator, PeerAddr, PeerTls, Peers, Routes, Settings};
use bertha_core::{Error, ErrorKind};
use bertha_datapath_shm::{Users, Waiting};
use bertha_managed::attach::is_name;
use bertha_program::tls::PeerOptions;
use bertha_program::{Metrics, Termination, make_socket_folder, say};
use clap::{Parser, value_parser};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use tokio::runtime::Builder;

/// The daemon of typed calls: it passes calls from applications of this machine to servers of this machine, and applies policies to them.
/// Runs until SIGINT or SIGTERM comes; then calls under way fail.
#[derive(Debug, Parser)]
#[command(name = "bertha-rpcd", version)]
pub struct Arguments {
    /// The socket at which applications attach. The rights of its folder, which the daemon makes in `/run`, say which users reach it.
    #[arg(long, value_name = "FILE", default_value = "/run/bertha/rpcd.sock")]
    socket: PathBuf,
    /// Takes applications of the user of this number, and of no others but those that are named so. Any user may open the socket then whom
    /// its folder lets in, and one that is not named hears so. May be given several times; by default, of the daemon's own user and of root.
    #[arg(long, value_name = "UID")]
    user: Vec<u32>,
    /// Bytes to which each of an application's two heaps grows, and that messages to or from another daemon may take.
    #[arg(long, value_name = "BYTES", default_value_t = 256 << 20)]
    heap: usize,
    /// An engine that calls of a service pass, as in `hotel:acl:field=customer deny=eve`. May be given several times.
    #[arg(long, value_name = "ENGINE")]
    engine: Vec<Engine>,
    /// A library with a kind of engine, by its absolute path, which --engine may name then. May be given several times.
    #[arg(long, value_name = "FILE")]
    load: Vec<PathBuf>,
    /// Tries a library in another process, ends what is left of that, and says what became of it. The daemon starts itself so before it opens one.
    #[arg(long, value_name = "FILE", hide = true)]
    try_library: Option<PathBuf>,
    /// Opens a library, and ends.
    #[arg(long, value_name = "FILE", hide = true)]
    open_library: Option<PathBuf>,
    /// The program that tries libraries.
    #[arg(skip)]
    trials: Option<PathBuf>,
    /// Takes calls of the daemons of other machines at this address, or over the DPDK port that the environment describes at dpdk:ADDRESS.
    /// Without --tls-cert anyone who reaches it may call.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<PeerAddr>,
    /// Leads the calls of a service to the daemon of another machine, at ADDRESS or dpdk:ADDRESS, or to a server of gRPC at grpc:ADDRESS, or by
    /// TLS at grpcs:ADDRESS or grpcs:NAME@ADDRESS, with the name in its certificate, unless an application of this machine serves it. Up to 64
    /// servers with commas between them share the calls. May be given several times.
    #[arg(long, value_name = "SERVICE=ADDRESS", value_parser = route)]
    route: Vec<(String, Routes)>,
    /// Takes calls of gRPC at this address. Without --grpc-client-ca anyone who reaches it may call, and without --grpc-cert read.
    #[arg(long, value_name = "ADDRESS")]
    grpc: Option<SocketAddr>,
    /// Connections that one address may have at each of these two ports, at most a quarter of their places, which are 1,024, or fewer where
    /// the limit of descriptors is low; further ones are closed.
    #[arg(long, value_name = "CONNECTIONS", default_value = "256")]
    per_address: NonZeroUsize,
    /// Threads that pass calls on. Those of a caller are passed on by one at a time.
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = value_parser!(u16).range(1..=256))]
    threads: u16,
    /// Polls the queues of applications, where the daemon sleeps otherwise until one rings: calls take less time, and each thread keeps a
    /// processor busy, also when nothing is to do.
    #[arg(long)]
    poll: bool,
    /// Passes the calls of a service on by a thread of its own, which sleeps when idle: calls of other services take no time of it. It begins
    /// with the first party of the service. May be given several times, for at most 64 services.
    #[arg(long, value_name = "SERVICE")]
    dedicated: Vec<String>,
    #[command(flatten)]
    encryption: PeerOptions,
    #[command(flatten)]
    grpc_encryption: GrpcOptions,
    #[command(flatten)]
    metrics: Metrics,
}

/// An engine of the command line.
#[derive(Debug, Clone)]
struct Engine {
    service: String,
    kind: String,
    settings: bertha_managed::Settings,
}

impl Engine {
    fn add(self, operator: &Operator) -> Result<(), Error> {
        let Self { service, kind, settings } = self;
        let kind = operator.kind(&kind)?;
        let change = Change::Add { name: kind.name().to_owned(), kind, settings };
        let added = operator.change(&service, &change);
        added.map_err(|error| Error::new(ErrorKind::Invalid, format!("--engine {service}: {error}")))
    }
}

impl FromStr for Engine {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.splitn(3, ':');
        let (Some(service), Some(kind)) = (parts.next(), parts.next()) else {
            return Err(
                "an engine is named by its service and its kind, as in hotel:rate-limit:per-second=100"
                    .into(),
            );
        };
        let settings = parts.next().unwrap_or_default().parse().map_err(|error| format!("{error}"))?;
        if !is_name(service) {
            return Err(NO_SERVICE.into());
        }
        Ok(Self { service: service.to_owned(), kind: kind.to_owned(), settings })
    }
}

/// The refusal of a name.
const NO_SERVICE: &str =
    "the name of a service has 1 to 255 letters, digits and signs of ASCII, with single spaces between them";

fn route(text: &str) -> Result<(String, Routes), Error> {
    let parts = text.rsplit_once('=').filter(|(service, _)| !service.is_empty());
    let (service, to) = parts.ok_or_else(|| {
        Error::new(ErrorKind::Invalid, "a route is a service and an address, as in hotel=10.0.0.2:7000")
    })?;
    if !is_name(service) {
        return Err(Error::new(ErrorKind::Invalid, NO_SERVICE));
    }
    reserved_names::check_name("a service", service)?;
    Ok((service.to_owned(), to.parse()?))
}

impl Arguments {
    /// Returns the builder of the runtime that the daemon has.
    pub fn runtime(&self) -> Builder {
        threads::runtime(self.threads.into())
    }

    /// Has this program try each library in another process of it, before the daemon opens the library.
    #[must_use]
    pub fn trying_libraries(self) -> Self {
        // The program that runs, also if there is another file in its place now.
        Self { trials: Some("/proc/self/exe".into()), ..self }
    }

    /// Serves until a signal comes.
    ///
    /// # Errors
    /// Errors of what listens, and settings that no daemon has.
    pub async fn execute(self, termination: &Termination) -> Result<(), Error> {
        if let Some(library) = &self.try_library {
            return trial::keep(library);
        }
        if let Some(library) = &self.open_library {
            trial::run(library);
            return Ok(());
        }
        let users = if self.user.is_empty() { Users::Same } else { Users::Only(self.user) };
        let tls = self.encryption.tls()?.map(|(server, client)| PeerTls { server, client });
        let grpc_tls = self.grpc_encryption.read()?;
        let Self { listen, route: routes, grpc, per_address, .. } = self;
        let peers = Peers { listen, routes, grpc, grpc_tls, tls, per_address: per_address.get() };
        let settings = Settings {
            users,
            waiting: if self.poll { Waiting::Spin } else { Waiting::Park },
            heap: self.heap,
            dedicated: self.dedicated,
            peers,
            trials: self.trials,
        };
        threads::start().await;
        make_socket_folder(&self.socket)?;
        let daemon = Daemon::listen(&self.socket, settings).await?;
        let operator = daemon.operator();
        let watched = self.metrics.begin("bertha-rpcd")?;
        crate::operators::metrics::add(&watched, &operator)?;
        for path in &self.load {
            operator.load(path).await?;
        }
        self.engine.into_iter().try_for_each(|engine| engine.add(&operator))?;
        if let Some(addr) = daemon.peer_addr() {
            say(format!("daemons connect at {addr}"));
        }
        if let Some(addr) = daemon.grpc_addr() {
            say(format!("callers of gRPC connect at {addr}"));
        }
        say(format!("applications attach at {}", self.socket.display()));
        termination.serve(daemon.run()).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_as_in_the_other_programs() {
        assert_eq!(bertha_program::style::faults(Arguments::command()), Vec::<String>::new());
    }

    #[test]
    fn a_route_is_a_service_and_an_address() {
        assert_eq!(route("a=b=10.0.0.2:7000").unwrap(), ("a=b".into(), "10.0.0.2:7000".parse().unwrap()));
        assert_eq!(route("a=[::1]:70,grpc:[::1]:71").unwrap().1.iter().len(), 2);
        for wrong in
            ["hotel", "=10.0.0.2:7000", "hotel=there", "hotel=[::1]:70,[::1]:70", "\u{202e}a=[::1]:70"]
        {
            assert!(route(wrong).is_err(), "{wrong}");
        }
        assert!(route("(others)=[::1]:70").unwrap_err().to_string().contains("choose another"));
    }

    #[test]
    fn what_is_no_engine_is_named() {
        let error = |text: &str| text.parse::<Engine>().unwrap_err();
        assert!(error("hotel").contains("as in hotel:rate-limit"));
        assert!(error("hotel:acl:deny").contains("deny=10"));
        assert!(error("ho\u{200b}tel:acl").contains("signs of ASCII"));
        assert_eq!("hotel:acl:field=a deny=b".parse::<Engine>().unwrap().service, "hotel");
    }
}
