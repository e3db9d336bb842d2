//! The program `bertha-bench managed`: calls of an application on one host to an application on another, through the daemons of both
//! hosts, by tonic alone, and by tonic through an Envoy on each host. All processes share a single core, so that the rate is what a core
//! does, and a median has every step of the way in it.
//!
//! | part | its purpose |
//! |---|---|
//! | [`rows`] | the rows against tonic and Envoy, and their budgets |
//! | [`order`], [`sizes`], [`threads`], [`sidecars`] | the rows of Table 3.2 and Figures 3.4 to 3.6 that compare more |
//! | [`limits`], [`sends`], [`bind`], [`upgrade`] | the rows of one question each |
//! | [`counted`] | the rows that are counts of instructions |
//! | [`chain`], [`operated`] | the processes between the two applications, and a daemon in this process |
//! | [`by_daemon`], [`by_tonic`], [`by_hand`] | the two applications |
//! | [`customers`], [`flow`] | the names in their calls, and calls that flow while something happens |
//! | [`beside`] | an application beside others that misbehave, or whose engines change |
//! | [`qos`], [`large`] | an application with small calls beside one with large requests |
//! | [`envoy`] | settings of Envoy |
//! | [`hotel`] | another program, of five services |
//! | [`process`] | a process, its output and its memory |

mod beside;
mod bind;
mod by_daemon;
mod by_hand;
mod by_tonic;
mod chain;
mod counted;
mod customers;
mod envoy;
mod flow;
pub(crate) mod hotel;
mod large;
mod limits;
mod operated;
mod order;
mod process;
mod qos;
mod rows;
mod sends;
mod sidecars;
mod sizes;
mod threads;
mod upgrade;

use crate::harness::{Effort, Placement, run_on, runtime};
use crate::report::Report;
use crate::{Error, ErrorKind};
use bertha_managed::EngineKind;
use bertha_managed::engines::built_in;
use bertha_program::Termination;
use clap::Args;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::runtime::Builder;

pub(crate) use counted::{instructions, probe};
pub(crate) use large::{AskOptions, ask};

/// Types of the schema in `proto/calls.proto`.
#[allow(missing_docs, unreachable_pub, reason = "the schema documents what it needs to")]
mod bench {
    include!(concat!(env!("OUT_DIR"), "/bench.rs"));
}

/// Number of bytes in an answer.
const ANSWER: usize = 8;

/// The name of the service in the daemons.
const SERVICE: &str = "calls";

/// Types of the schema in `proto/arguments.proto`.
#[allow(missing_docs, unreachable_pub, reason = "the schema documents what it needs to")]
mod arguments {
    include!(concat!(env!("OUT_DIR"), "/arguments.rs"));
}

/// Types of the schema in `proto/reservation.proto`.
#[allow(missing_docs, unreachable_pub, reason = "the schema documents what it needs to")]
mod reservation {
    include!(concat!(env!("OUT_DIR"), "/reservation.rs"));
}

/// The rows to measure.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Measure this part alone, most by the number of a table or figure of the seed: memory, 3.2, 3.4, 3.5, 3.6, 3.7a, 3.7b, threads, bind, upgrade, qos, beside or instructions
    #[arg(long)]
    only: Option<String>,
}

/// Measures the rows.
///
/// # Errors
/// Errors of the processes.
pub(crate) fn run(options: &Options, effort: Effort) -> Result<Report, Error> {
    type Part = fn(&mut Report, Effort) -> Result<(), Error>;
    let parts: [(&str, Part); _] = [
        ("memory", |report, _| rows::memory(report)),
        ("3.2", rows::one_at_a_time),
        ("3.2", order::run),
        ("3.5", rows::rates),
        ("3.4", rows::goodput),
        ("3.4", sizes::run),
        ("3.6", rows::policies),
        ("3.6", sidecars::run),
        ("3.7a", sends::run),
        ("3.7b", limits::run),
        ("bind", bind::run),
        ("upgrade", upgrade::run),
        ("qos", qos::rows),
        ("beside", beside::run),
        ("instructions", counted::run),
    ];
    let is_wanted = |name: &str| options.only.as_deref().is_none_or(|only| only == name);
    let (core, _) = Placement::OneCore.cores()?;
    // Processes start on the core of the thread that starts them.
    let mut report = run_on(core, || {
        let mut report = Report::new("managed");
        for (_, part) in parts.into_iter().filter(|(name, _)| is_wanted(name)) {
            part(&mut report, effort)?;
        }
        Ok(report)
    })?;
    if is_wanted("beside") {
        beside::changes(&mut report, effort)?;
    }
    if is_wanted("threads") {
        threads::run(&mut report, effort)?;
    }
    Ok(report)
}

/// The server of a measurement.
#[derive(Debug, Args)]
pub(crate) struct ServeOptions {
    /// Socket of the daemon through which it serves; without one, it serves gRPC by tonic
    #[arg(long)]
    socket: Option<PathBuf>,
    /// Name of the service
    #[arg(long, default_value = SERVICE)]
    service: String,
    /// Serves by a TCP socket alone
    #[arg(long)]
    by_hand: bool,
    /// Number of threads that answer
    #[arg(long, default_value_t = 1)]
    threads: usize,
}

/// Serves until the process is killed.
///
/// # Errors
/// Errors of serving.
pub(crate) fn serve(options: &ServeOptions) -> Result<(), Error> {
    if options.by_hand {
        return by_hand::serve();
    }
    let runtime = match options.threads {
        1 => runtime()?,
        threads => {
            Builder::new_multi_thread().worker_threads(threads).enable_all().build().map_err(no_runtime)?
        }
    };
    runtime.block_on(async {
        match &options.socket {
            Some(socket) => by_daemon::serve(socket, &options.service).await,
            None => by_tonic::serve().await,
        }
    })
}

/// Is the daemon of a host until a signal comes.
///
/// # Errors
/// Errors of the daemon.
pub(crate) fn be_daemon(arguments: bertha_rpcd::Arguments) -> Result<(), Error> {
    let termination =
        Termination::expect().map_err(Error::while_doing(ErrorKind::Core, "expecting signals"))?;
    let runtime = arguments.runtime().enable_all().build().map_err(no_runtime)?;
    let served = runtime.block_on(arguments.execute(&termination));
    served.map_err(Error::while_doing(ErrorKind::Bertha, "being the daemon of a host"))
}

/// Returns a kind of engine that is built in.
fn built_in_kind(name: &str) -> Result<Arc<dyn EngineKind>, Error> {
    let lacking = || Error::new(ErrorKind::Core, "an engine lacks");
    built_in().into_iter().find(|kind| kind.name() == name).ok_or_else(lacking)
}

fn no_runtime(error: std::io::Error) -> Error {
    Error::while_doing(ErrorKind::Core, "building a tokio runtime")(error)
}
