//! The program `ycsb`: it loads the key-value store with the YCSB core workloads, and plots the results.

mod command;

use bertha_ycsb::report::chain;
use command::Arguments;
use std::process::ExitCode;

fn main() -> ExitCode {
    bertha_program::run(|arguments: Arguments, termination| {
        arguments.execute(termination).map_err(|error| chain(&*error))
    })
}
