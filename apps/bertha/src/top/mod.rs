//! `bertha top`: the connections of all programs of this user that let themselves be observed.

mod detail;
mod list;
mod rates;
mod row;
mod screen;
mod sorting;
mod view;

use crate::output;
use bertha::{Error, ErrorKind};
use bertha_observe::{Answer, ProcessState, folder, read_all};
use bertha_program::Termination;
use bertha_program::values::positive_seconds;
use clap::Args;
use serde::Serialize;
use sorting::Sorting;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::Duration;
use view::View;

/// Shows the connections of all programs of this user that were started with --observe or call
/// `bertha::observe`, live.
///
/// Keys: up and down choose a connection, Enter shows all of its layers, s sorts by the next column, r turns the order
/// round, / filters, p stops the clock, q ends.
#[derive(Debug, Args)]
pub(crate) struct Top {
    /// Prints the state of all processes as JSON, once, and ends
    #[arg(long)]
    json: bool,
    /// The folder of the programs' sockets, if it is not that of this user
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Time between two looks
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = positive_seconds)]
    interval: Duration,
    /// The column by which the connections are sorted
    #[arg(long, value_enum, default_value_t)]
    sort: Sorting,
    /// Shows only connections whose program, addresses or stack contain this text
    #[arg(long, value_name = "NAME", default_value = "")]
    filter: String,
}

/// The document of `--json`.
#[derive(Serialize)]
struct Document {
    processes: Vec<ProcessState>,
    /// The processes whose state is not known, and the reasons.
    unknown: Vec<Unknown>,
}

#[derive(Serialize)]
struct Unknown {
    socket: PathBuf,
    reason: String,
}

impl Top {
    pub(crate) async fn execute(self, termination: &Termination) -> Result<(), Error> {
        let folder = self.folder.unwrap_or_else(folder);
        if self.json {
            return output::json(&Document::of(ask(folder).await?));
        }
        if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
            let what = "`bertha top` needs a terminal; `bertha top --json` prints the state once";
            return Err(Error::new(ErrorKind::Invalid, what));
        }
        screen::show(folder, self.interval, View::new(self.sort, self.filter), termination).await
    }
}

/// Asks all processes, in a thread that may block.
async fn ask(folder: PathBuf) -> Result<Vec<Answer>, Error> {
    let asked = tokio::task::spawn_blocking(move || read_all(&folder)).await;
    asked.map_err(|error| Error::new(ErrorKind::Io, "asking the processes failed").because(error))?
}

impl Document {
    fn of(answers: Vec<Answer>) -> Self {
        let mut document = Self { processes: Vec::new(), unknown: Vec::new() };
        for Answer { path, state, .. } in answers {
            match state {
                Ok(state) => document.processes.push(state),
                Err(error) => document.unknown.push(Unknown { socket: path, reason: error.to_string() }),
            }
        }
        document
    }
}
