//! `bertha-rpcd`: the daemon of typed calls.

use bertha_program::run_async;
use bertha_rpcd::Arguments;
use std::process::ExitCode;
use tokio::runtime::Builder;

fn main() -> ExitCode {
    run_async(&mut Builder::new_current_thread(), async |arguments: Arguments, termination| {
        arguments.execute(&termination).await
    })
}
