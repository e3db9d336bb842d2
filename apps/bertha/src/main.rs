//! `bertha`: measures connections over any datapath and stack, explains what two ends agree on, and shows what is in a rendezvous
//! store.

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
            // The program's one line to a person; it has no log.
            #[allow(clippy::print_stderr)]
            {
                eprintln!("bertha: {}", escape::escaped(&error.to_string()));
            }
            ExitCode::FAILURE
        }
    }
}
