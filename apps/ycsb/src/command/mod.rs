//! The program's commands and options.

mod plot;
mod run;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Loads the records and runs a workload.
    Run(Box<run::Run>),
    /// Draws latency against offered load from the reports of several runs.
    Plot(plot::Plot),
}

/// An error that ends the program early; the user sees its text and its sources.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;
