//! `bertha-rpcd`: the daemon of typed calls.

use bertha_program::run_async;
use bertha_rpcd::{Arguments, runtime};
use std::process::ExitCode;

fn main() -> ExitCode {
    run_async(&mut runtime(), async |arguments: Arguments, termination| arguments.execute(&termination).await)
}
