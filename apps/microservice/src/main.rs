//! The program `bertha-microservice`: services, and load for them.

mod command;

use bertha_program::exit;
use clap::Parser;
use command::Arguments;
use std::process::ExitCode;

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    exit::printed("bertha-microservice", Arguments::parse().execute().await)
}
