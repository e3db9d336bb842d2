//! The command `bertha`: it measures connections over any datapath and stack, explains agreements, and shows
//! the content of a rendezvous store and the connections of programs.

#![forbid(unsafe_code)]

mod command;
mod drops;
mod explain;
mod inspect;
mod keys;
mod output;
mod perf;
mod ping;
mod probe;
mod rate;
mod rpcd;
mod run;
mod run_stack;
mod site;
mod sockets;
#[cfg(feature = "tcp")]
mod tcp;
mod top;

use bertha_program::run_async;
use command::Arguments;
use std::process::ExitCode;
use tokio::runtime::Builder;

fn main() -> ExitCode {
    run_async(&mut Builder::new_multi_thread(), async |arguments: Arguments, termination| {
        match arguments.execute(&termination).await {
            // The reader of the output has gone.
            Err(error) if output::is_closed(&error) => Ok(()),
            outcome => outcome,
        }
    })
}
