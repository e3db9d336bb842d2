//! The command line.

use crate::explain::Explain;
use crate::inspect::Inspect;
use crate::perf::Perf;
use crate::ping::Ping;
use crate::rpcd::Rpcd;
use crate::run::Run;
use crate::sockets::Sockets;
#[cfg(feature = "tcp")]
use crate::tcp::Tcp;
use crate::top::Top;
use bertha::Error;
use bertha_program::Termination;
use clap::{Parser, Subcommand};

/// Measures connections over any datapath and stack, explains agreements, shows the content of a rendezvous store and the
/// connections of programs, and changes the policies on calls.
#[derive(Debug, Parser)]
#[command(name = "bertha", version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Perf(Perf),
    Ping(Ping),
    Explain(Explain),
    Inspect(Inspect),
    Top(Top),
    Rpcd(Rpcd),
    Run(Run),
    Sockets(Sockets),
    #[cfg(feature = "tcp")]
    Tcp(Tcp),
}

impl Arguments {
    pub(crate) async fn execute(self, termination: &Termination) -> Result<(), Error> {
        match self.command {
            Command::Perf(perf) => perf.execute(termination).await,
            Command::Ping(ping) => ping.execute(termination).await,
            Command::Explain(explain) => termination.work(explain.execute()).await,
            Command::Inspect(inspect) => inspect.execute(termination).await,
            Command::Top(top) => top.execute(termination).await,
            Command::Rpcd(rpcd) => rpcd.execute(termination).await,
            Command::Run(run) => run.execute(termination),
            Command::Sockets(sockets) => sockets.execute(termination).await,
            #[cfg(feature = "tcp")]
            Command::Tcp(tcp) => tcp.execute(termination).await,
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
