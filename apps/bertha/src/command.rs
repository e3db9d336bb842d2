//! The command line.

use crate::explain::Explain;
use crate::inspect::Inspect;
use crate::perf::Perf;
use crate::ping::Ping;
use bertha::Error;
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use std::io;

/// Measures connections over any datapath and stack, explains agreements, and shows the content of a
/// rendezvous store.
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
    /// Prints the completions for a shell, for the folder in which the shell looks for them.
    Completion {
        /// Name of the shell.
        shell: Shell,
    },
    /// Prints the manual page, for `man -l`; with a subcommand, the page of the subcommand.
    Man {
        /// Name of the subcommand.
        subcommand: Option<String>,
    },
}

impl Arguments {
    pub(crate) async fn execute(self) -> Result<(), Error> {
        match self.command {
            Command::Perf(perf) => perf.execute().await,
            Command::Ping(ping) => ping.execute().await,
            Command::Explain(explain) => explain.execute().await,
            Command::Inspect(inspect) => inspect.execute().await,
            Command::Completion { shell } => {
                // The script is generated in memory first: the generator panics if its output is closed.
                let mut script = Vec::new();
                clap_complete::generate(shell, &mut Self::command(), "bertha", &mut script);
                Ok(io::Write::write_all(&mut io::stdout(), &script)?)
            }
            Command::Man { subcommand } => man(subcommand.as_deref()),
        }
    }
}

fn man(subcommand: Option<&str>) -> Result<(), Error> {
    let mut whole = Arguments::command();
    whole.build();
    let page = match subcommand {
        None => whole,
        Some(name) => match whole.find_subcommand(name) {
            Some(found) => found.clone(),
            None => {
                let what = format!("there is no subcommand `{name}`; `bertha --help` lists them");
                return Err(Error::new(bertha::ErrorKind::Invalid, what));
            }
        },
    };
    Ok(clap_mangen::Man::new(page).render(&mut io::stdout())?)
}
