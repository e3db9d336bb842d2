//! `bertha-bundler`: two boxes at the ends of a path, which move its queue to the senders' side.

use bertha_bundler::Arguments;
use bertha_program::run;
use std::process::ExitCode;

fn main() -> ExitCode {
    run(|arguments: Arguments, termination| arguments.execute(&termination))
}
