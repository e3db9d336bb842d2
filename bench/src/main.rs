//! `bertha-bench`: every figure that the README claims.

mod command;

use bertha_allocations::Counting;
use bertha_bench::{Error, probe, report::Report, stepping};
use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Measures Bertha against programs written by hand.
///
/// Every measurement prints a table and writes its rows to target/bench/NAME.json.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    measurement: Measurement,
    /// Exit with an error when a figure misses its budget
    #[arg(long, global = true)]
    strict: bool,
}

#[derive(Debug, Subcommand)]
enum Measurement {
    /// Setting up a connection, to the echo of its first message
    Connect(command::connect::Options),
    /// The key-value store over kernel UDP, Unix sockets, memory, and DPDK ports that share memory
    #[cfg(feature = "dpdk")]
    Datapaths(command::datapaths::Options),
    /// Echoes over two DPDK ports that share memory, against frames that are turned round by hand
    #[cfg(feature = "dpdk")]
    DpdkEcho(command::dpdk_echo::Options),
    /// Round trips of 64 bytes, on one core and across cores, parking and spinning
    Echo(command::echo::Options),
    /// The key-value store: throughput, latency and instructions per request
    Kv(command::kv::Options),
    /// The key-value store, offered twice its peak
    KvOverload(command::kv_overload::Options),
    /// Stacks of Chunnels that do nothing: allocations, instructions, throughput and compile time
    Overhead(command::overhead::Options),
    /// Stacks that optimisation passes rewrote, against the same written by hand: instructions and compile time
    Passes(command::passes::Options),
    /// Routing at the server, with and without decoding messages
    ShardRaw(command::shard_raw::Options),
    /// Changing the stack of a connection under full load, and what it costs that it can
    Switch(command::switch::Options),
    /// Files over kernel UDP: goodput against QUIC, TCP and raw datagrams
    Throughput(command::throughput::Options),
    /// Congestion windows over time on the thesis's links, in a simulation: drawn, with what each link was used
    Windows(command::windows::Options),
    /// Repeats one operation, for the instruction counter
    #[command(hide = true)]
    Probe {
        /// Which operation
        name: String,
        /// How many times
        #[arg(long)]
        iterations: u64,
        /// Let the process that started this one count instructions
        #[arg(long)]
        traced: bool,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let report = match arguments.measurement {
        Measurement::Probe { name, iterations, traced } => {
            let ready = if traced { stepping::be_traced() } else { Ok(()) };
            return finish(ready.and_then(|()| probe::run(&name, iterations)));
        }
        Measurement::Connect(options) => command::connect::run(&options),
        #[cfg(feature = "dpdk")]
        Measurement::Datapaths(options) => command::datapaths::run(&options),
        #[cfg(feature = "dpdk")]
        Measurement::DpdkEcho(options) => command::dpdk_echo::run(&options),
        Measurement::Echo(options) => command::echo::run(&options),
        Measurement::Kv(options) => command::kv::run(&options),
        Measurement::KvOverload(options) => command::kv_overload::run(&options),
        Measurement::Overhead(options) => command::overhead::run(&options),
        Measurement::Passes(options) => command::passes::run(&options),
        Measurement::Switch(options) => command::switch::run(&options),
        Measurement::Throughput(options) => command::throughput::run(&options),
        Measurement::Windows(options) => command::windows::run(&options),
        Measurement::ShardRaw(options) => command::shard_raw::run(&options),
    };
    match report.and_then(|report| publish(&report)) {
        Ok(within_budget) if arguments.strict && !within_budget => ExitCode::FAILURE,
        result => finish(result),
    }
}

#[allow(clippy::print_stdout, reason = "where the rows are is the program's output")]
fn publish(report: &Report) -> Result<bool, Error> {
    let path = report.publish()?;
    println!("\nrows in {}", path.display());
    Ok(report.is_within_budget())
}

#[allow(clippy::print_stderr, reason = "the reason of a failure is the program's output")]
fn finish<T>(result: Result<T, Error>) -> ExitCode {
    match result {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bertha-bench: {error}");
            ExitCode::FAILURE
        }
    }
}
