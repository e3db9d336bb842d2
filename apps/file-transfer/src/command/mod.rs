//! The command line.

mod carriage;
mod progress;
mod receive;
mod send;
#[cfg(feature = "quic")]
mod transport;

use bertha_file_transfer::Error;
use bertha_program::Termination;
use clap::{Parser, Subcommand};

/// Sends files, checks them, and continues where a broken connection left off.
#[derive(Debug, Parser)]
#[command(name = "file-transfer", version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Keeps files in a folder, until SIGINT or SIGTERM comes
    Receive(receive::Arguments),
    /// Sends a file
    Send(send::Arguments),
}

impl Arguments {
    pub(crate) fn execute(self, termination: Termination) -> Result<(), Error> {
        match self.command {
            Command::Receive(arguments) => arguments.execute(termination),
            Command::Send(arguments) => arguments.execute(termination),
        }
    }
}

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
