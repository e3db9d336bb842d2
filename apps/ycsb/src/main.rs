//! The program `ycsb`: it loads the key-value store with the YCSB core workloads, and plots the results.

mod command;

use bertha_program::{exit, log};
use bertha_ycsb::report::chain;
use clap::Parser;
use command::Command;
use std::process::ExitCode;

/// Runs the YCSB core workloads against the Bertha key-value store.
#[derive(Debug, Parser)]
#[command(name = "ycsb", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    log::to_stderr();
    let done = match Arguments::parse().command {
        Command::Run(run) => run.execute(),
        Command::Plot(plot) => plot.execute(),
    };
    exit::logged(done.map_err(|error| chain(&*error)))
}
