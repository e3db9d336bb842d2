//! `bertha-microservice`: services, and load for them.

mod command;

use clap::Parser;
use command::Arguments;
use std::process::ExitCode;

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    match Arguments::parse().execute().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The program's one line to a person who starts it.
            #[allow(clippy::print_stderr)]
            {
                eprintln!("bertha-microservice: {error}");
            }
            ExitCode::FAILURE
        }
    }
}
