//! The command line.

use crate::commands::Commands;
use crate::event_counts::EventCounts;
use crate::joining::take_part;
use crate::journal::Journal;
use crate::participant::Part;
use crate::scenario::{Scenario, play};
use crate::store::Store;
use crate::{check, figure, history, sharing};
use bertha_core::{Error, ErrorKind};
use bertha_program::{Termination, Watching, exposure};
use clap::{Parser, Subcommand};
use std::io::Write;
use std::path::PathBuf;

/// Processes that publish to each other, over UDP multicast on a host or over a messaging service, and change
/// how they keep messages in order while they run.
#[derive(Debug, Parser)]
#[command(name = "pubsub", version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Takes part in a topic. Prints each event as a JSON object on a line, and obeys the lines of its
    /// standard input: `publish COUNT MILLISECONDS`, `upgrade ALTERNATIVE`, `leave`; it leaves at the end of
    /// the input and at SIGINT and SIGTERM as well.
    Join {
        /// Address of the store: redis://host:port or etcd://host:port[,host:port...]; rediss:// and etcds://
        /// for TLS, with a login as user@ and files as ?ca=FILE&cert=FILE&key=FILE&password_file=FILE.
        #[arg(long, value_name = "URL")]
        store: String,
        #[command(flatten)]
        part: Part,
        #[command(flatten)]
        demands: Demands,
        #[command(flatten)]
        watching: Watching,
    },
    /// Starts two participants, publishes, adds a third while messages flow, publishes on, and checks the
    /// history.
    Run {
        #[command(flatten)]
        scenario: Scenario,
        #[command(flatten)]
        demands: Demands,
        /// Draws the latency over time into this file (.svg).
        #[arg(long, value_name = "FILE")]
        figure: Option<PathBuf>,
        /// Writes the history into this file, a JSON object per line.
        #[arg(long, value_name = "FILE")]
        history: Option<PathBuf>,
        /// Prints the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Checks histories of all participants of a topic.
    Check {
        /// Files with the lines that participants printed.
        #[arg(value_name = "FILE")]
        histories: Vec<PathBuf>,
        /// Allows missing messages: some of the participants were killed.
        #[arg(long)]
        lossy: bool,
        /// Expects each message at a single receiver, as over a messaging service.
        #[arg(long, conflicts_with = "lossy")]
        shared: bool,
        /// Expects no order among shared messages.
        #[arg(long, requires = "shared")]
        unordered: bool,
    },
}

/// The demands on the messages among participants.
#[derive(Debug, Clone, Copy, clap::Args)]
struct Demands {
    /// Refuses to send in the clear. Nothing encrypts the messages of a group, so the option refuses always
    #[arg(long)]
    require_encryption: bool,
}

impl Demands {
    /// TLS, QUIC and Noise protect two ends. A cipher of our own under a common key would hide messages only
    /// until this key becomes known, and would not tell which participant has sent them.
    fn check(self) -> Result<(), Error> {
        if !self.require_encryption {
            return Ok(());
        }
        let what = "--require-encryption: participants send messages to their group in the clear, also with a store over TLS; \
                    leave the option out, and run the group in a network that encrypts, such as a VPN";
        Err(Error::new(ErrorKind::Unavailable, what))
    }
}

impl Arguments {
    pub(crate) async fn execute(self, termination: &Termination) -> Result<(), Error> {
        match self.command {
            Command::Join { store, part, demands, watching } => {
                demands.check()?;
                let watched = watching.begin("pubsub")?;
                let counts = EventCounts::default();
                counts.watch(&watched)?;
                let input = tokio::io::BufReader::new(tokio::io::stdin());
                exposure::warn_of_files_in(&store);
                let commands = Commands::until_ended(input, termination.clone());
                take_part(part, Store::at(&store)?, commands, Journal::Printed(counts)).await
            }
            Command::Run { scenario, demands, figure, history, json } => {
                demands.check()?;
                let lines = play(&scenario, termination).await?;
                if let Some(path) = history {
                    let lines = lines.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>();
                    let lines = lines.map_err(|error| Error::new(ErrorKind::Invalid, error.to_string()))?;
                    std::fs::write(path, lines.join("\n") + "\n")?;
                }
                if let Some(path) = figure {
                    std::fs::write(path, figure::draw(&lines))?;
                }
                let summary = match scenario.is_shared() {
                    true => sharing::check(&lines, scenario.is_ordered()),
                    false => check::check(&lines, false),
                };
                report(&summary?, json)
            }
            Command::Check { histories, lossy, shared, unordered } => {
                let mut lines = Vec::new();
                for path in histories {
                    lines.extend(history::parse(&std::fs::read_to_string(path)?)?);
                }
                let summary =
                    if shared { sharing::check(&lines, !unordered) } else { check::check(&lines, lossy) };
                report(&summary?, false)
            }
        }
    }
}

fn report(summary: &check::Summary, json: bool) -> Result<(), Error> {
    let text = match json {
        true => serde_json::to_string(summary)
            .map_err(|error| Error::new(ErrorKind::Invalid, error.to_string()))?,
        false => summary.to_string(),
    };
    Ok(writeln!(std::io::stdout().lock(), "{text}")?)
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
