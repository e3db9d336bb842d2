//! The command line.

mod carriage;
mod progress;
mod receive;
mod send;
#[cfg(feature = "quic")]
mod transport;

use bertha_file_transfer::Error;
use clap::{Parser, Subcommand};
use std::io::{self, Write};

/// Sends files, checks them, and continues where a broken connection left off.
#[derive(Debug, Parser)]
#[command(name = "file-transfer", version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Keeps files in a directory. Ends on SIGINT and SIGTERM
    Receive(receive::Arguments),
    /// Sends a file
    Send(send::Arguments),
}

impl Arguments {
    pub(crate) fn execute(self) -> Result<(), Error> {
        match self.command {
            Command::Receive(arguments) => arguments.execute(),
            Command::Send(arguments) => arguments.execute(),
        }
    }
}

/// Writes a message to standard output, for users and for programs that wait for it.
fn say(what: &str) {
    // A closed standard output is no reason to stop the transfer.
    let _ = writeln!(io::stdout().lock(), "file-transfer: {what}");
}
