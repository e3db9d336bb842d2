//! `bertha-rpcd`: the daemon of typed calls.

use bertha_program::run_async_on;
use bertha_rpcd::Arguments;
use std::process::ExitCode;

fn main() -> ExitCode {
    run_async_on(Arguments::runtime, async |arguments: Arguments, termination| {
        arguments.trying_libraries().execute(&termination).await
    })
}
