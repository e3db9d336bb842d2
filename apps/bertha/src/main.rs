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

use clap::Parser;
use command::Arguments;
use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    match Arguments::parse().execute().await {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of the output has gone.
        Err(error) if output::is_closed(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // This is the program's only line to its user; it has no log.
            #[allow(clippy::print_stderr)]
            {
                eprintln!("bertha: {}", escape::escaped(&error.to_string()));
            }
            ExitCode::FAILURE
        }
    }
}
