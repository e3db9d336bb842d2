//! The program's commands and options.

use bertha::{Addr, Error};
use bertha_kvstore::resp::{Password, RespAddr, Settings};
use bertha_kvstore::server::Figures;
use bertha_kvstore::{Capacity, Options, Routing, Server, Sharding, Shards, zone};
use bertha_program::tls::ServerOptions;
use bertha_program::values::seconds;
use bertha_program::{Termination, Watched, Watching, exposure, say};
use clap::{Args, Parser, Subcommand};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// A sharded key-value store, which runs until SIGINT or SIGTERM comes.
#[derive(Debug, Parser)]
#[command(name = "kvstore", version, args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: Serve,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs a single shard, for the router of another process.
    Shard(Shard),
}

/// Runs a router and its shards.
#[derive(Debug, Args)]
struct Serve {
    /// Address at which the router listens; local shards listen on the ports that follow. The zone of an IPv6
    /// address is the name of an interface, or its number: [fe80::1%eth0]:4242.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4242", value_parser = zone::parse)]
    addr: SocketAddr,
    /// Address by which clients reach local shards, if --addr is an address such as 0.0.0.0.
    #[arg(long, value_name = "IP")]
    advertise: Option<IpAddr>,
    /// Number of local shards, each with a thread of its own.
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    shards: u16,
    /// A shard elsewhere (`kvstore shard`), instead of local ones; repeat it in the order of the shards.
    #[arg(long, value_name = "ADDRESS", conflicts_with = "shards", value_parser = zone::parse)]
    remote_shard: Vec<SocketAddr>,
    /// The place where requests may be routed to shards.
    #[arg(long, value_enum, default_value_t)]
    sharding: Sharding,
    /// The way in which the router finds the shard of a request, if the shards are elsewhere.
    #[arg(long, value_enum, default_value_t, requires = "remote_shard", conflicts_with = "shards")]
    routing: Routing,
    /// Serves clients of Redis, too, at this address, without encryption: 127.0.0.1:6379,
    /// unix:/run/store.sock or dpdk:10.0.0.1:6379; may be repeated.
    ///
    /// A client that sends 64 MiB of commands and reads no reply to earlier commands loses its connection; so
    /// does the client that takes the most memory for the longest time when unsent replies of all clients
    /// exceed 1 GiB, or their unfinished commands 256 MiB. `INFO` counts such ends
    /// (connections_ended_unread_replies, _unsent_replies, _unfinished_commands).
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["remote_shard", "require_encryption"])]
    resp: Vec<RespAddr>,
    #[command(flatten)]
    resp_options: RespOptions,
    #[command(flatten)]
    capacity: CapacityPerShard,
    #[command(flatten)]
    encryption: ServerOptions,
    #[command(flatten)]
    watching: Watching,
}

/// How clients of Redis are served.
#[derive(Debug, Args)]
struct RespOptions {
    /// Clients of Redis have to log in with the password in this file, one line, which other users of the
    /// machine must not read
    #[arg(long, value_name = "FILE", requires = "resp")]
    resp_password_file: Option<PathBuf>,
    /// Time after which a silent client of Redis loses its connection, in seconds, and 10 within a command; 0
    /// is never
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = seconds, requires = "resp")]
    resp_idle: Duration,
    /// Another store of this user may listen at an address of --resp too; each of the two then has a part of the clients
    #[arg(long, requires = "resp")]
    reuse_port: bool,
}

#[derive(Debug, Args)]
struct Shard {
    /// Address at which the shard listens.
    #[arg(long, value_name = "ADDRESS", value_parser = zone::parse)]
    addr: SocketAddr,
    #[command(flatten)]
    capacity: CapacityPerShard,
    #[command(flatten)]
    encryption: ServerOptions,
    #[command(flatten)]
    watching: Watching,
}

#[derive(Debug, Args)]
struct CapacityPerShard {
    /// Maximum number of records in a shard.
    #[arg(long, value_name = "COUNT", default_value_t = Capacity::default().records)]
    max_records: usize,
    /// Maximum number of bytes of keys and values in a shard.
    #[arg(long, value_name = "BYTES", default_value_t = Capacity::default().bytes)]
    max_bytes: usize,
}

impl Arguments {
    pub(crate) fn execute(self, termination: Termination) -> Result<(), Error> {
        let watching = match &self.command {
            Some(Command::Shard(shard)) => &shard.watching,
            None => &self.serve.watching,
        };
        let watched = watching.clone().begin("kvstore")?;
        let server = match self.command {
            Some(Command::Shard(shard)) => {
                Server::start_shard(shard.addr, shard.capacity.get(), shard.encryption.encryption()?)?
            }
            None => Server::start(self.serve.options()?)?,
        };
        watch(&watched, &server.figures())?;
        announce(&server);
        termination.block();
        server.stop()
    }
}

/// Adds the figures of the store to its metrics.
fn watch(watched: &Watched, figures: &Figures) -> Result<(), Error> {
    let read = |read: fn(&Figures) -> u64| {
        let figures = figures.clone();
        move || read(&figures)
    };
    watched.gauge("kvstore_records", "Records in the shards of this process.", read(Figures::records))?;
    watched.gauge("kvstore_record_bytes", "Bytes of all keys and values.", read(Figures::bytes))?;
    watched.gauge("kvstore_resp_clients", "Clients of Redis at this moment.", read(Figures::resp_clients))?;
    let connections = read(Figures::resp_connections);
    watched.counter(
        "kvstore_resp_connections_total",
        "Clients of Redis that have connected.",
        connections,
    )?;
    let commands = read(Figures::resp_commands);
    watched.counter("kvstore_resp_commands_total", "Commands of clients of Redis.", commands)?;
    let (help, endings) = ("Clients of Redis whose connection the store ended.", figures.clone());
    let endings = move || endings.resp_endings();
    watched.counters("kvstore_resp_connections_ended_total", help, "reason", endings)
}

/// Prints the address for clients, which they could not know otherwise with port 0.
fn announce(server: &Server) {
    let shards = server.map().shards().len();
    let noun = if shards == 1 { "shard" } else { "shards" };
    say(format!("kvstore: ready at {}, {shards} {noun}", server.addr()));
    for addr in server.resp_addrs() {
        say(format!("kvstore: RESP at {addr}"));
    }
}

impl Serve {
    fn options(self) -> Result<Options, Error> {
        for addr in &self.resp {
            if let RespAddr::Kernel(addr) = addr {
                exposure::warn_of_address(addr);
            }
        }
        let shards = if self.remote_shard.is_empty() {
            Shards::Local(self.shards)
        } else {
            Shards::Remote(self.remote_shard.into_iter().map(Addr::from).collect())
        };
        Ok(Options {
            addr: self.addr,
            advertise: self.advertise,
            shards,
            sharding: self.sharding,
            routing: self.routing,
            capacity: self.capacity.get(),
            encryption: self.encryption.encryption()?,
            resp: self.resp,
            resp_settings: self.resp_options.settings()?,
        })
    }
}

impl RespOptions {
    fn settings(self) -> Result<Settings, Error> {
        let password = self.resp_password_file.map(|file| {
            exposure::warn_of_file(&file);
            Password::read(&file)
        });
        let password = password.transpose()?;
        let idle = Some(self.resp_idle).filter(|idle| !idle.is_zero());
        Ok(Settings { password, idle, reuse_port: self.reuse_port, ..Settings::default() })
    }
}

impl CapacityPerShard {
    fn get(&self) -> Capacity {
        Capacity { records: self.max_records, bytes: self.max_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bertha_program::style;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_as_those_of_the_other_programs() {
        assert_eq!(style::faults(Arguments::command()), [""; 0]);
    }
}
