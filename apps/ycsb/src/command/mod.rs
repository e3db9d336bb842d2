//! The program's commands and options.

mod plot;
mod run;

use bertha_program::Termination;
use clap::{Parser, Subcommand};

/// Runs the YCSB core workloads A to F against the Bertha key-value store.
#[derive(Debug, Parser)]
#[command(name = "ycsb", version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Loads the records and runs a workload.
    ///
    /// The property files have YCSB's names and defaults. A scan (scanproportion, minscanlength,
    /// maxscanlength, scanlengthdistribution=uniform or zipfian) reads up to 1000 records in the order of
    /// keys, over all shards; the report has it as an operation of its own, and the number of records that
    /// scans have read.
    Run(Box<run::Run>),
    /// Draws latency against offered load from the reports of several runs.
    Plot(plot::Plot),
}

impl Arguments {
    pub(crate) fn execute(self, termination: Termination) -> Result<(), Failure> {
        match self.command {
            Command::Run(run) => run.execute(termination),
            Command::Plot(plot) => plot.execute(),
        }
    }
}

/// An error that ends the program early; the user sees its text and its sources.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

#[cfg(test)]
mod tests {
    use super::*;
    use bertha_program::style;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_as_those_of_the_other_programs() {
        assert_eq!(style::faults(Arguments::command()), [""; 0]);
    }
}
