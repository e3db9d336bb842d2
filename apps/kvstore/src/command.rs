//! The program's commands and options.

use bertha::{Addr, Error};
use bertha_kvstore::resp::{Password, RespAddr, Settings};
use bertha_kvstore::{Capacity, Options, Server, Sharding, Shards, zone};
use bertha_program::Termination;
use bertha_program::tls::ServerOptions;
use clap::{Args, Parser, Subcommand};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// A sharded key-value store. Ends on SIGINT and SIGTERM, after it has closed its connections.
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
    /// Where the router listens; local shards listen on the ports that follow. The zone of an IPv6 address is the name of an
    /// interface, or its number: [fe80::1%eth0]:4242.
    #[arg(long, default_value = "127.0.0.1:4242", value_parser = zone::parse)]
    addr: SocketAddr,
    /// Address by which clients reach local shards, if --addr is an address such as 0.0.0.0.
    #[arg(long, value_name = "IP")]
    advertise: Option<IpAddr>,
    /// Number of local shards, each with a thread of its own.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    shards: u16,
    /// A shard elsewhere (`kvstore shard`), instead of local ones; repeat it in the order of the shards.
    #[arg(long, value_name = "ADDR", conflicts_with = "shards", value_parser = zone::parse)]
    remote_shard: Vec<SocketAddr>,
    /// The side that may route requests to shards.
    #[arg(long, value_enum, default_value_t)]
    sharding: Sharding,
    /// Also serve clients of Redis at this address, without encryption: 127.0.0.1:6379, unix:/run/store.sock
    /// or dpdk:10.0.0.1:6379; may be repeated.
    #[arg(long, value_name = "ADDR", conflicts_with_all = ["remote_shard", "require_encryption"])]
    resp: Vec<RespAddr>,
    #[command(flatten)]
    resp_options: RespOptions,
    #[command(flatten)]
    capacity: CapacityPerShard,
    #[command(flatten)]
    encryption: ServerOptions,
}

/// How clients of Redis are served.
#[derive(Debug, Args)]
struct RespOptions {
    /// Clients of Redis have to log in with the password in this file, one line
    #[arg(long, value_name = "FILE", requires = "resp")]
    resp_password_file: Option<PathBuf>,
    /// A client of Redis that says nothing for so many seconds, or for 10 within a command, loses its connection; 0 is never
    #[arg(long, value_name = "SECONDS", default_value_t = 300, requires = "resp")]
    resp_idle: u64,
    /// Another store of this user may listen at an address of --resp too; each of the two then has a part of the clients
    #[arg(long, requires = "resp")]
    reuse_port: bool,
}

#[derive(Debug, Args)]
struct Shard {
    /// Where the shard listens.
    #[arg(long, value_parser = zone::parse)]
    addr: SocketAddr,
    #[command(flatten)]
    capacity: CapacityPerShard,
    #[command(flatten)]
    encryption: ServerOptions,
}

#[derive(Debug, Args)]
struct CapacityPerShard {
    /// Largest number of records in a shard.
    #[arg(long, default_value_t = Capacity::default().records)]
    max_records: usize,
    /// Largest number of bytes of keys and values in a shard.
    #[arg(long, default_value_t = Capacity::default().bytes)]
    max_bytes: usize,
}

impl Arguments {
    pub(crate) fn execute(self) -> Result<(), Error> {
        let termination = Termination::expect()?;
        let server = match self.command {
            Some(Command::Shard(shard)) => {
                Server::start_shard(shard.addr, shard.capacity.get(), shard.encryption.encryption()?)?
            }
            None => Server::start(self.serve.options()?)?,
        };
        announce(&server);
        termination.wait()?;
        server.stop()
    }
}

/// Prints the address for clients, which they could not know otherwise with port 0.
#[expect(clippy::print_stdout, reason = "whoever starts the store waits for this line")]
fn announce(server: &Server) {
    let shards = server.map().shards().len();
    println!(
        "kvstore: ready at {}, {shards} {}",
        server.addr(),
        if shards == 1 { "shard" } else { "shards" }
    );
    for addr in server.resp_addrs() {
        println!("kvstore: RESP at {addr}");
    }
}

impl Serve {
    fn options(self) -> Result<Options, Error> {
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
            capacity: self.capacity.get(),
            encryption: self.encryption.encryption()?,
            resp: self.resp,
            resp_settings: self.resp_options.settings()?,
        })
    }
}

impl RespOptions {
    fn settings(self) -> Result<Settings, Error> {
        let password = self.resp_password_file.map(|file| Password::read(&file)).transpose()?;
        let idle = Some(Duration::from_secs(self.resp_idle)).filter(|idle| !idle.is_zero());
        Ok(Settings { password, idle, reuse_port: self.reuse_port, ..Settings::default() })
    }
}

impl CapacityPerShard {
    fn get(&self) -> Capacity {
        Capacity { records: self.max_records, bytes: self.max_bytes }
    }
}
