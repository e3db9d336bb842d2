//! The command line.

use crate::algorithms::{self, Name, Running};
use crate::flows::Flows;
use crate::settings::{self, Assignment, Settings};
use crate::statistics::Shown;
use bertha_ccp::algorithms::Copa;
use bertha_ccp::{AgentMemory, AgentSocket};
use bertha_core::Error;
use bertha_program::values::positive_seconds;
use bertha_program::{Metrics, Termination, escaped, say};
use clap::Parser;
use std::future::pending;
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
    /// The socket at which datapaths connect that share memory with the agent, as with the congestion control
    /// `agent:cubic@shm:FILE`. Processes of this user and of root can do so.
    #[arg(long, value_name = "FILE")]
    shm: Option<PathBuf>,
    /// The algorithm of flows that ask for none.
    #[arg(long, value_enum, value_name = "NAME", default_value_t = Name::Cubic)]
    algorithm: Name,
    /// Sets a number of an algorithm, such as `cubic.beta=0.8`.
    #[arg(long, value_name = "NAME=VALUE", long_help = settings::help())]
    set: Vec<Assignment>,
    /// Makes `copa` keep the queue short beside flows that fill it, and get a small share there, as `copa-default` always does.
    #[arg(long)]
    without_competition: bool,
    /// Time between two tables of statistics, in seconds.
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = positive_seconds)]
    interval: Duration,
    /// Prints no statistics.
    #[arg(long, conflicts_with = "interval")]
    quiet: bool,
    #[command(flatten)]
    metrics: Metrics,
}

impl Arguments {
    pub(crate) async fn execute(self, termination: &Termination) -> Result<(), Error> {
        let copa = if self.without_competition { Copa::without_competition() } else { Copa::default() };
        let settings = Settings::new(copa, &self.set)?;
        let names = algorithms::names();
        let socket = AgentSocket::bind(&self.socket, &names)?;
        let memory = self.shm.as_deref().map(|path| AgentMemory::bind(path, &names)).transpose()?;
        let flows = Flows::new([socket.flows()].into_iter().chain(memory.as_ref().map(AgentMemory::flows)));
        let watched = self.metrics.begin("bertha-agent")?;
        flows.tell(&watched)?;
        let over_socket = algorithms::start(socket, self.algorithm, settings)?;
        let over_memory =
            memory.map(|memory| algorithms::start(memory, self.algorithm, settings)).transpose()?;
        let at = [Some(&self.socket), self.shm.as_ref()].into_iter().flatten();
        let at: Vec<_> = at.map(|path| escaped(&path.to_string_lossy()).to_string()).collect();
        let heading = format!("at {}: {} by default", at.join(" and "), self.algorithm);
        // A thread of its own, since a reader of the output that does not read must keep nobody waiting.
        std::thread::spawn(move || {
            say(heading);
            if !self.quiet {
                show(&flows, self.interval);
            }
        });
        let ended = async {
            tokio::select! {
                ended = over_socket.ended() => ended,
                ended = ended(over_memory.as_ref()) => ended,
            }
        };
        let served = termination.serve(ended).await;
        over_socket.stop();
        over_memory.into_iter().for_each(Running::stop);
        served
    }
}

/// Waits until the algorithms have ended, if they run.
async fn ended(running: Option<&Running>) -> Result<(), Error> {
    match running {
        Some(running) => running.ended().await,
        None => pending().await,
    }
}

/// Prints the flows again and again.
fn show(flows: &Flows, interval: Duration) {
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
