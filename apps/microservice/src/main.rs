//! The program `bertha-microservice`: services, and load for them.

mod command;

use bertha_program::run_async;
use command::Arguments;
use std::process::ExitCode;
use tokio::runtime::Builder;

fn main() -> ExitCode {
    run_async(Builder::new_multi_thread().worker_threads(2), async |arguments: Arguments, termination| {
        arguments.execute(&termination).await
    })
}
