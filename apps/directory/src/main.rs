//! `bertha-directory`: the directory of a machine, which tells services of the same machine about each other.

mod command;

use clap::Parser;
use command::Arguments;
use std::process::ExitCode;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    tracing_subscriber::fmt().with_env_filter(tracing_subscriber::EnvFilter::from_default_env()).init();
    match Arguments::parse().execute().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The program's one line to a person who starts it.
            #[allow(clippy::print_stderr)]
            {
                eprintln!("bertha-directory: {error}");
            }
            ExitCode::FAILURE
        }
    }
}
