//! The command line.

use bertha_core::Error;
use bertha_microservice::hotel::load::{Load, Pace};
use bertha_microservice::hotel::{ServeOptions, Summary};
use bertha_program::{Termination, say};
use clap::{Parser, Subcommand};
use std::net::SocketAddr;

/// Five services that find rooms in hotels, which call each other through the daemons of their hosts, or by gRPC.
#[derive(Debug, Parser)]
#[command(name = "bertha-hotel", version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs a service until SIGINT or SIGTERM comes.
    Serve(ServeOptions),
    /// Searches at the front end, and shows the times of each service: of calls, and of work.
    Load {
        /// Address of the front end.
        #[arg(value_name = "ADDRESS")]
        to: SocketAddr,
        /// Searches per second, whether earlier ones have an answer or not.
        #[arg(long, value_name = "RATE", default_value_t = 20.0)]
        per_second: f64,
        /// Makes searches as soon as one of so many has its answer, instead.
        #[arg(long, value_name = "COUNT", conflicts_with = "per_second")]
        in_flight: Option<usize>,
        /// Number of searches.
        #[arg(long, value_name = "COUNT", default_value_t = 200)]
        requests: usize,
        /// The seed of what is searched.
        #[arg(long, value_name = "SEED", default_value_t = 1)]
        seed: u64,
    },
}

impl Arguments {
    pub(crate) async fn execute(self, termination: &Termination) -> Result<(), Error> {
        match self.command {
            Command::Serve(options) => termination.serve(options.serve()).await,
            Command::Load { to, per_second, in_flight, requests, seed } => {
                let pace = in_flight.map_or(Pace::PerSecond(per_second), Pace::InFlight);
                let answers = termination.work(Load { pace, requests, seed }.run(to)).await?;
                say(Summary::of(&answers).to_string());
                Ok(())
            }
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
