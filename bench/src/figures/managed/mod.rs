//! The program `bertha-bench managed`: calls of an application on one host to an application on another, through the daemons of both
//! hosts, by tonic alone, and by tonic through an Envoy on each host. All processes share a single core, so that the rate is what a core
//! does, and a median has every step of the way in it.
//!
//! | part | its purpose |
//! |---|---|
//! | [`rows`] | the rows, and their budgets |
//! | [`chain`] | the processes between the two applications |
//! | [`by_daemon`], [`by_tonic`] | the two applications |
//! | [`qos`], [`large`] | an application with small calls beside one with large requests |
//! | [`envoy`] | settings of Envoy |
//! | [`process`] | a process, its output and its memory |

mod by_daemon;
mod by_tonic;
mod chain;
mod envoy;
mod large;
mod process;
mod qos;
mod rows;

use crate::harness::runtime;
use crate::{Error, ErrorKind};
use bertha_program::Termination;
use clap::Args;
use std::path::PathBuf;

pub(crate) use large::{AskOptions, ask};
pub(crate) use rows::run;

/// Types of the schema in `proto/calls.proto`.
#[allow(missing_docs, unreachable_pub, reason = "the schema documents what it needs to")]
mod bench {
    include!(concat!(env!("OUT_DIR"), "/bench.rs"));
}

/// Number of bytes in an answer.
const ANSWER: usize = 8;

/// The name of the service in the daemons.
const SERVICE: &str = "calls";

/// The server of a measurement.
#[derive(Debug, Args)]
pub(crate) struct ServeOptions {
    /// Socket of the daemon through which it serves; without one, it serves gRPC by tonic
    #[arg(long)]
    socket: Option<PathBuf>,
}

/// Serves until the process is killed.
///
/// # Errors
/// Errors of serving.
pub(crate) fn serve(options: &ServeOptions) -> Result<(), Error> {
    runtime()?.block_on(async {
        match &options.socket {
            Some(socket) => by_daemon::serve(socket).await,
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
    let served = runtime()?.block_on(arguments.execute(&termination));
    served.map_err(Error::while_doing(ErrorKind::Bertha, "being the daemon of a host"))
}
