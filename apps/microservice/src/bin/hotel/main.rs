//! The program `bertha-hotel`: the services of the hotel, and load for them.

mod command;

use bertha_program::run_async;
use command::Arguments;
use std::process::ExitCode;
use tokio::runtime::Builder;

fn main() -> ExitCode {
    run_async(&mut Builder::new_current_thread(), async |arguments: Arguments, termination| {
        arguments.execute(&termination).await
    })
}
