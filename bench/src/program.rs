//! The programs, and a run of all of them.

#[cfg(feature = "bindings")]
use crate::figures::bindings;
#[cfg(feature = "local")]
use crate::figures::local;
#[cfg(feature = "managed")]
use crate::figures::managed;
#[cfg(feature = "queues")]
use crate::figures::pubsub;
use crate::figures::{congestion, flood, passes, shard_raw, switch, windows};
use crate::harness::Effort;
use crate::report::{Report, Section};
use crate::{Error, ErrorKind};
use crate::{connect, echo, idle, instructions, kv, overhead, resp, sockets, throughput};
#[cfg(feature = "dpdk")]
use crate::{datapaths, dpdk_echo};
#[cfg(feature = "rpc")]
use crate::{http, rpc};
use clap::{CommandFactory, Parser, Subcommand};
use std::process::Command;

#[derive(Debug, Subcommand)]
pub(crate) enum Program {
    /// Stacks of Chunnels that do nothing: allocations, instructions, throughput and compile time
    Overhead,
    /// Round trips of 64 bytes, on one core and across cores, parking and spinning
    Echo,
    /// The key-value store: instructions per request, throughput and latency, and twice its peak
    Kv(kv::Options),
    /// Setting up a connection, to the echo of its first message, and joining others
    Connect(connect::Options),
    /// Files over kernel UDP: goodput against QUIC, TCP and raw datagrams
    Throughput(throughput::Options),
    /// The key-value store over kernel UDP, Unix sockets, memory, and DPDK ports that share memory
    #[cfg(feature = "dpdk")]
    Datapaths,
    /// Echoes over two DPDK ports that share memory, against a server by hand
    #[cfg(feature = "dpdk")]
    DpdkEcho,
    /// Connections of programs in C, against the same in Rust
    #[cfg(feature = "bindings")]
    Bindings,
    /// Services of one machine: Figure 3.5, round trips and calls through shared memory, against tonic, iceoryx2 and a ring by hand
    #[cfg(feature = "local")]
    Local,
    /// Calls through the daemons of two hosts, against tonic alone and behind an Envoy on each host
    #[cfg(feature = "managed")]
    Managed(managed::Options),
    /// A hotel of five services, through daemons, by tonic, and by tonic with an Envoy beside each service: times and memory
    #[cfg(feature = "managed")]
    Hotel,
    /// Topics of messaging services: latency, calls and throughput against each service's own client, and the order that changes its place
    #[cfg(feature = "queues")]
    Pubsub,
    /// Stacks that optimisation passes rewrote, against the same written by hand
    Passes,
    /// Calls and responses over UDP, TCP and TLS, against tonic, tarpc and a loop by hand
    #[cfg(feature = "rpc")]
    Rpc,
    /// A server by hyper over a stream of bytes, against the same over tokio's TcpStream
    #[cfg(feature = "rpc")]
    Http,
    /// The key-value store under redis-benchmark, against redis-server
    Resp,
    /// Programs that know nothing of Bertha, as redis and nginx, with their sockets taken over, against the kernel's TCP
    Sockets(sockets::Options),
    /// Changing the stack of a connection under full load, and its cost to a connection that can
    Switch,
    /// Routing at the server, on raw bytes and by decoding, with the thesis's figure 3.10: latency and throughput by load
    ShardRaw,
    /// Honest clients of a server that is flooded with replayed offers or silent streams
    Flood,
    /// Memory and processor time of 10,000 connections that are not used
    Idle,
    /// The thesis's figures of congestion control, and how flows use and share a link, in a simulation
    Congestion(congestion::Options),
    /// Congestion windows over time on the thesis's links, in a simulation
    Windows(windows::Options),
    /// The counted rows of overhead, kv, passes and echo alone, against the stored counts; for CI
    Instructions(instructions::Options),
}

/// All programs but `instructions`, whose rows also belong to other programs.
pub(crate) const ALL: &[&str] = &[
    "overhead",
    "echo",
    "kv",
    "connect",
    "throughput",
    "datapaths",
    "dpdk-echo",
    "bindings",
    "local",
    "managed",
    "hotel",
    "passes",
    "pubsub",
    "rpc",
    "http",
    "resp",
    "sockets",
    "switch",
    "shard-raw",
    "flood",
    "idle",
    "congestion",
    "windows",
];

impl Program {
    /// Measures the rows of the program.
    ///
    /// # Errors
    /// Errors of the program.
    pub(crate) fn run(self, effort: Effort) -> Result<Report, Error> {
        match self {
            Self::Overhead => overhead::run(effort),
            Self::Echo => echo::run(effort),
            Self::Kv(options) => kv::run(&options, effort),
            Self::Connect(options) => connect::run(&options, effort),
            Self::Throughput(options) => throughput::run(&options, effort),
            #[cfg(feature = "dpdk")]
            Self::Datapaths => datapaths::run(effort),
            #[cfg(feature = "dpdk")]
            Self::DpdkEcho => dpdk_echo::run(effort),
            #[cfg(feature = "bindings")]
            Self::Bindings => bindings::run(effort),
            #[cfg(feature = "local")]
            Self::Local => local::run(effort),
            #[cfg(feature = "managed")]
            Self::Managed(options) => managed::run(&options, effort),
            #[cfg(feature = "managed")]
            Self::Hotel => managed::hotel::run(effort),
            Self::Passes => passes::run(effort),
            #[cfg(feature = "queues")]
            Self::Pubsub => pubsub::run(effort),
            #[cfg(feature = "rpc")]
            Self::Rpc => rpc::run(effort),
            #[cfg(feature = "rpc")]
            Self::Http => http::run(effort),
            Self::Resp => resp::run(effort),
            Self::Sockets(options) => sockets::run(&options, effort),
            Self::Switch => switch::run(effort),
            Self::ShardRaw => shard_raw::run(effort),
            Self::Flood => flood::run(effort),
            Self::Idle => idle::run(effort),
            Self::Congestion(options) => congestion::run(&options, effort),
            Self::Windows(options) => windows::run(&options, effort),
            Self::Instructions(options) => instructions::run(&options),
        }
    }
}

/// Runs programs one after another, each in a process of its own, and describes all. A failed program does
/// not keep the others from running.
///
/// # Errors
/// [`ErrorKind::Report`] for a name that is not a program's.
pub(crate) fn run_all(wanted: &[String], only_write: bool, effort: Effort) -> Result<Vec<Section>, Error> {
    #[derive(Parser)]
    struct Programs {
        #[command(subcommand)]
        _program: Program,
    }
    if let Some(unknown) = wanted.iter().find(|name| !ALL.contains(&name.as_str())) {
        let names = ALL.join(", ");
        return Err(Error::new(
            ErrorKind::Report,
            format!("no program is called {unknown}; there are: {names}"),
        ));
    }
    let programs = Programs::command();
    let sections = ALL.iter().map(|name| {
        let known = programs.find_subcommand(name);
        let about = known.and_then(|program| program.get_about().map(ToString::to_string));
        let is_wanted = !only_write && (wanted.is_empty() || wanted.iter().any(|wanted| wanted == name));
        let failure = (is_wanted && known.is_some()).then(|| run_apart(name, effort).err()).flatten();
        let without = "Built without it (`--features all`): what follows is from before.".to_owned();
        Section { name, about: about.unwrap_or(without), failure: failure.map(|error| error.to_string()) }
    });
    Ok(sections.collect())
}

#[allow(clippy::print_stdout, reason = "the name of the program is a heading of its table")]
fn run_apart(name: &str, effort: Effort) -> Result<(), Error> {
    println!("\n== {name}");
    let failed = || format!("{name} failed; its message is above");
    let program = std::env::current_exe()
        .map_err(Error::while_doing(ErrorKind::Report, "finding the running program"))?;
    let status = Command::new(program).arg(name).args(effort.pick(None, Some("--quick"))).status();
    match status.map_err(Error::while_doing(ErrorKind::Report, "starting a program"))? {
        status if status.success() => Ok(()),
        _ => Err(Error::new(ErrorKind::Report, failed())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_program_is_refused_and_all_have_a_purpose() {
        assert!(run_all(&["nothing".into()], false, Effort::Quick).is_err());
        let sections = run_all(&[], true, Effort::Quick).unwrap();
        assert!(sections.len() == ALL.len() && sections.iter().all(|section| !section.about.is_empty()));
    }
}
