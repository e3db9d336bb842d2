//! The program `ycsb`: it loads the key-value store with the YCSB core workloads, and plots the results.

mod command;

use std::io::IsTerminal;
use std::process::ExitCode;

use bertha_ycsb::report::chain;
use clap::Parser;
use command::Command;

/// Runs the YCSB core workloads against the Bertha key-value store.
#[derive(Debug, Parser)]
#[command(name = "ycsb", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        // Colours are for people.
        .with_ansi(std::io::stderr().is_terminal())
        .with_env_filter(
            tracing_subscriber::EnvFilter::builder()
                .with_default_directive(tracing::Level::WARN.into())
                .from_env_lossy(),
        )
        .init();
    let done = match Arguments::parse().command {
        Command::Run(run) => run.execute(),
        Command::Plot(plot) => plot.execute(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{}", chain(&*error));
            ExitCode::FAILURE
        }
    }
}
