//! The program `bertha-microservice`: services, and load for them.

mod command;

use clap::Parser;
use command::Arguments;
use std::process::ExitCode;

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    match Arguments::parse().execute().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // This is the program's only line to its user.
            #[allow(clippy::print_stderr)]
            {
                eprintln!("bertha-microservice: {error}");
            }
            ExitCode::FAILURE
        }
    }
}
