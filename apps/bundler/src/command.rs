//! The command line.

use crate::receive::Receiving;
use crate::send::Sending;
use bertha_core::Error;
use bertha_program::Termination;
use clap::{Parser, Subcommand};

/// A box at an end of a path that it does not control. The two boxes move the queue of the path to the senders' side, where the order of
/// packets is chosen (Bundler). They need root, or the capabilities CAP_NET_ADMIN and CAP_NET_RAW.
#[derive(Debug, Parser)]
#[command(name = "bertha-bundler", version)]
pub struct Arguments {
    #[command(subcommand)]
    end: End,
}

#[derive(Debug, Subcommand)]
enum End {
    Send(Sending),
    Receive(Receiving),
}

impl Arguments {
    /// Is the box until a signal comes.
    ///
    /// # Errors
    /// Errors of the key's file, of interfaces, sockets and routes, and of the congestion control.
    pub fn execute(self, termination: &Termination) -> Result<(), Error> {
        match self.end {
            End::Send(sending) => sending.execute(termination),
            End::Receive(receiving) => receiving.execute(termination),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_as_in_the_other_programs() {
        assert_eq!(bertha_program::style::faults(Arguments::command()), Vec::<String>::new());
    }
}
