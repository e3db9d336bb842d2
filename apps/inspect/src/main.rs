//! `bertha-inspect`: shows the connections in a rendezvous store, each with its stack in force, its round and its
//! participants, and follows their changes.

mod command;
mod escape;
mod follow;
mod print;
mod status;

use clap::Parser;
use command::Arguments;
use std::process::ExitCode;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match Arguments::parse().execute().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The program's one line to a person; it has no log.
            #[allow(clippy::print_stderr)]
            {
                eprintln!("bertha-inspect: {}", escape::escaped(&error.to_string()));
            }
            ExitCode::FAILURE
        }
    }
}
