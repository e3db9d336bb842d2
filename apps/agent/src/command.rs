//! The command line.

use crate::algorithms::{self, Name};
use crate::statistics::Shown;
use bertha_ccp::algorithms::Copa;
use bertha_ccp::{AgentFlows, AgentSocket};
use bertha_core::Error;
use bertha_program::values::positive_seconds;
use bertha_program::{Termination, escaped, say};
use clap::Parser;
use std::path::PathBuf;
use std::time::Duration;

/// The agent of congestion control: it runs algorithms for flows of other processes, which connect with a
/// congestion control such as `agent:cubic`. Runs until SIGINT or SIGTERM comes; the flows then continue by themselves.
#[derive(Debug, Parser)]
#[command(name = "bertha-agent", version)]
pub(crate) struct Arguments {
    /// The socket at which datapaths find the agent. Processes of this user and of root can reach it.
    #[arg(long, value_name = "FILE", default_value = "/tmp/ccp/portus")]
    socket: PathBuf,
    /// The algorithm of flows that ask for none.
    #[arg(long, value_enum, value_name = "NAME", default_value_t = Name::Cubic)]
    algorithm: Name,
    /// Makes `copa` keep the queue short beside flows that fill it, and get a small share there.
    #[arg(long)]
    without_competition: bool,
    /// Time between two tables of statistics, in seconds.
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = positive_seconds)]
    interval: Duration,
    /// Prints no statistics.
    #[arg(long, conflicts_with = "interval")]
    quiet: bool,
}

impl Arguments {
    pub(crate) async fn execute(self, termination: &Termination) -> Result<(), Error> {
        let socket = AgentSocket::bind(&self.socket, &algorithms::names())?;
        let flows = socket.flows();
        let copa = if self.without_competition { Copa::without_competition() } else { Copa::default() };
        let running = algorithms::start(socket, self.algorithm, copa)?;
        let at = escaped(&self.socket.to_string_lossy());
        let heading = format!("at {at}: {} by default", self.algorithm);
        // A thread of its own, since a reader of the output that does not read must keep nobody waiting.
        std::thread::spawn(move || {
            say(heading);
            if !self.quiet {
                show(&flows, self.interval);
            }
        });
        let served = termination.serve(running.ended()).await;
        running.stop();
        served
    }
}

/// Prints the flows again and again.
fn show(flows: &AgentFlows, interval: Duration) {
    let mut shown = Shown::default();
    loop {
        shown.next(flows.status(), flows.totals(), interval).into_iter().for_each(say);
        std::thread::sleep(interval);
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
