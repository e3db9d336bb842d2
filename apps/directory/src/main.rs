//! `bertha-directory`: the directory of a machine, which tells services of the same machine about each other.

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
