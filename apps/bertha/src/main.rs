//! The command `bertha`: it measures connections over any datapath and stack, explains agreements, and shows
//! the content of a rendezvous store.

#![forbid(unsafe_code)]

mod command;
mod drops;
mod escape;
mod explain;
mod inspect;
mod output;
mod perf;
mod ping;
mod probe;
mod rate;
mod site;
mod stack;
mod transport;

use bertha_program::exit;
use clap::Parser;
use command::Arguments;
use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    let outcome = match Arguments::parse().execute().await {
        // The reader of the output has gone.
        Err(error) if output::is_closed(&error) => Ok(()),
        outcome => outcome.map_err(|error| escape::escaped(&error.to_string())),
    };
    exit::printed("bertha", outcome)
}
