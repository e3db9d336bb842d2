//! The program `bertha-bench`: it measures Bertha against programs written by hand. Every figure in
//! `bench/RESULTS.md` is a row of it.
//!
//! | module | its purpose |
//! |---|---|
//! | [`harness`] | programs in turn, ratios with intervals, instructions, latencies, cores and runtimes |
//! | [`report`] | rows, budgets, the table, the files and the page |
//! | [`goodput`] | transfers by hand, through a Chunnel and by the whole transport |
//! | `memif` | DPDK ports that share memory, and frames by hand |
//! | [`probe`] | programs for the instruction counter |
//! | [`instructions`] | the counted rows alone, against stored counts |
//! | [`figures`] | the programs that draw the figures of published evaluations |
//! | every other module | the program with the module's name |
//!
//! Times on a shared machine differ by several percent between two runs of a program. A ratio near one is
//! therefore decided by instructions per operation, and the ratio of times stands beside it with its
//! interval.

// Generated types in `managed` have layouts, and allow it.
#![deny(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

#[cfg(feature = "caladan")]
mod caladan;
mod compile_time;
mod connect;
#[cfg(feature = "dpdk")]
mod datapaths;
#[cfg(feature = "dpdk")]
mod dpdk_echo;
mod echo;
mod error;
mod figures;
mod goodput;
mod harness;
#[cfg(feature = "rpc")]
mod http;
mod idle;
mod instructions;
mod kv;
#[cfg(feature = "dpdk")]
mod memif;
mod overhead;
mod probe;
mod program;
mod report;
mod resp;
#[cfg(feature = "rpc")]
mod rpc;
mod sockets;
mod throughput;

use bertha_allocations::Counting;
use bertha_program::Termination;
use clap::{Parser, Subcommand};
use error::{Error, ErrorKind};
use harness::{Counter, Effort};
use program::Program;
use report::Machine;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Measures Bertha against programs written by hand.
///
/// Every program prints a table and writes its rows to target/bench/NAME.json.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Take few samples: enough to see that nothing is badly wrong
    #[arg(long, global = true)]
    quick: bool,
    /// Exit with an error when a figure misses its budget
    #[arg(long, global = true)]
    strict: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(flatten)]
    Program(Program),
    /// Runs all programs, or those that are named, and writes the page of this kind of processor, unless the run is quick
    Report {
        /// Programs to run; the page shows the last results of the others
        programs: Vec<String>,
        /// Run none, and write the page out of the last results
        #[arg(long, conflicts_with = "programs")]
        only_write: bool,
    },
    /// Prints the instructions of one iteration of a probe
    #[command(hide = true)]
    Count { probe: String, iterations: u64 },
    /// Prints rows over Caladan, beside whose scheduler this runs
    #[cfg(feature = "caladan")]
    #[command(hide = true)]
    CaladanRows { rows: caladan::Rows },
    /// Prints the messages per second of an echo over Caladan
    #[cfg(feature = "caladan")]
    #[command(hide = true)]
    CaladanEcho(caladan::EchoOptions),
    /// Prints the bytes per second of a file over Caladan
    #[cfg(feature = "caladan")]
    #[command(hide = true)]
    CaladanFiles(throughput::CaladanOptions),
    /// Prints the sample of a store over Caladan
    #[cfg(feature = "caladan")]
    #[command(hide = true)]
    CaladanStore(caladan::StoreOptions),
    /// Controls flows as an agent that gets a report each so many microseconds, until it is killed
    #[command(hide = true)]
    Agent { socket: PathBuf, period: u64 },
    /// Asks a service, and prints the times
    #[cfg(feature = "local")]
    #[command(hide = true)]
    LocalAsk(figures::local::AskOptions),
    /// Serves an echo beside a directory, until it is killed
    #[cfg(feature = "local")]
    #[command(hide = true)]
    LocalServe(figures::local::ServeOptions),
    /// Is the daemon of a host, as the program bertha-rpcd is
    #[cfg(feature = "managed")]
    #[command(hide = true)]
    Rpcd(Box<bertha_rpcd::Arguments>),
    /// Serves calls through a daemon, or by tonic, until it is killed
    #[cfg(feature = "managed")]
    #[command(hide = true)]
    ManagedServe(figures::managed::ServeOptions),
    /// Makes large calls through a daemon for some time, and prints their rate
    #[cfg(feature = "managed")]
    #[command(hide = true)]
    ManagedAsk(figures::managed::AskOptions),
    /// Runs a service of the hotel until it is killed
    #[cfg(feature = "managed")]
    #[command(hide = true)]
    HotelServe(bertha_microservice::hotel::ServeOptions),
    /// Is a box of a bundle, as the program bertha-bundler is
    #[command(hide = true)]
    Bundler(bertha_bundler::Arguments),
    /// Connects to an end of shared memory, and waits to be killed
    #[cfg(feature = "local")]
    #[command(hide = true)]
    Mortal { peer: String },
    /// Serves clients of Redis over DPDK until the input ends
    #[cfg(feature = "dpdk")]
    #[command(hide = true)]
    RespOverDpdk,
    /// Serves an echo over the standard library's sockets, until it is killed
    #[command(hide = true)]
    SocketsServe(sockets::ServeOptions),
    /// Asks a server over the standard library's sockets
    #[command(hide = true)]
    SocketsAsk(sockets::AskOptions),
    /// Takes messages of clients, until it is killed
    #[cfg(feature = "bindings")]
    #[command(hide = true)]
    BindingsServe,
    /// Prints the messages per second that a server takes
    #[cfg(feature = "bindings")]
    #[command(hide = true)]
    BindingsSend(figures::bindings::SendOptions),
    /// Repeats one operation, for the instruction counter
    #[command(hide = true)]
    Probe { name: String, iterations: u64 },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let effort = if arguments.quick { Effort::Quick } else { Effort::Full };
    let outcome = match arguments.command {
        Command::Program(program) => program.run(effort).and_then(|report| {
            let report = report.publish(arguments.quick)?;
            let strictly = report.is_within_budget() || !arguments.strict;
            Ok(strictly && !instructions::has_grown(&report))
        }),
        Command::Report { programs, only_write } => report_all(&programs, only_write, effort).map(|()| true),
        #[cfg(feature = "caladan")]
        Command::CaladanRows { rows } => caladan::print(rows, effort).map(|()| true),
        #[cfg(feature = "caladan")]
        Command::CaladanEcho(options) => {
            caladan::echo(options).and_then(|it| caladan::tell(&it)).map(|()| true)
        }
        #[cfg(feature = "caladan")]
        Command::CaladanFiles(options) => {
            throughput::over_caladan(options).and_then(|it| caladan::tell(&it)).map(|()| true)
        }
        #[cfg(feature = "caladan")]
        Command::CaladanStore(options) => {
            caladan::store(options).and_then(|it| caladan::tell(&it)).map(|()| true)
        }
        Command::Agent { socket, period } => {
            figures::congestion::serve_as_agent(&socket, Duration::from_micros(period)).map(|()| true)
        }
        #[cfg(feature = "local")]
        Command::LocalAsk(options) => figures::local::ask(&options).map(|()| true),
        #[cfg(feature = "local")]
        Command::LocalServe(options) => figures::local::serve(&options).map(|()| true),
        #[cfg(feature = "managed")]
        Command::Rpcd(arguments) => figures::managed::be_daemon(*arguments).map(|()| true),
        #[cfg(feature = "managed")]
        Command::ManagedServe(options) => figures::managed::serve(&options).map(|()| true),
        #[cfg(feature = "managed")]
        Command::ManagedAsk(options) => figures::managed::ask(&options).map(|()| true),
        #[cfg(feature = "managed")]
        Command::HotelServe(options) => figures::managed::hotel::serve(options).map(|()| true),
        Command::Bundler(arguments) => be_box(arguments).map(|()| true),
        #[cfg(feature = "local")]
        Command::Mortal { peer } => figures::local::mortal(&peer).map(|()| true),
        #[cfg(feature = "dpdk")]
        Command::RespOverDpdk => resp::serve_over_dpdk().map(|()| true),
        Command::SocketsServe(options) => sockets::serve(options).map(|()| true),
        Command::SocketsAsk(options) => sockets::ask(options).map(|()| true),
        #[cfg(feature = "bindings")]
        Command::BindingsServe => figures::bindings::serve().map(|()| true),
        #[cfg(feature = "bindings")]
        Command::BindingsSend(options) => figures::bindings::send(&options).map(|()| true),
        Command::Count { probe, iterations } => count(&probe, iterations).map(|()| true),
        Command::Probe { name, iterations } => probe::run(&name, iterations).map(|()| true),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            complain(&error);
            ExitCode::FAILURE
        }
    }
}

/// Runs programs and writes the page of this kind of processor. A quick run writes no page.
fn report_all(programs: &[String], only_write: bool, effort: Effort) -> Result<(), Error> {
    // The load is read before the run, since the programs themselves are a load.
    let machine = Machine::here();
    match effort {
        Effort::Quick => program::run_all(programs, only_write, effort).map(drop),
        Effort::Full => {
            let machine = if only_write { machine } else { machine.quiet()? };
            let sections = program::run_all(programs, only_write, effort)?;
            report::write_page(Path::new(env!("CARGO_MANIFEST_DIR")), &machine, &sections)
        }
    }
}

/// Is a box of a bundle until a signal comes.
fn be_box(arguments: bertha_bundler::Arguments) -> Result<(), Error> {
    let termination =
        Termination::expect().map_err(Error::while_doing(ErrorKind::Core, "expecting signals"))?;
    arguments.execute(&termination).map_err(Error::while_doing(ErrorKind::Bertha, "being a box of a bundle"))
}

#[allow(clippy::print_stdout, reason = "the count is the program's output")]
fn count(probe: &str, iterations: u64) -> Result<(), Error> {
    println!("{:.3}", Counter::of_probe(probe)?.instructions(iterations)?);
    Ok(())
}

#[allow(clippy::print_stderr, reason = "the reason of a failure is the program's output")]
fn complain(error: &Error) {
    eprintln!("bertha-bench: {error}");
}
