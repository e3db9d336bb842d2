//! `bertha-agent`: the agent of congestion control, which runs algorithms for the flows of all processes of a user.

mod algorithms;
mod command;
mod flows;
mod settings;
mod statistics;

use bertha_program::run_async;
use command::Arguments;
use std::process::ExitCode;
use tokio::runtime::Builder;

fn main() -> ExitCode {
    run_async(&mut Builder::new_current_thread(), async |arguments: Arguments, termination| {
        arguments.execute(&termination).await
    })
}
