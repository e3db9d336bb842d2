//! The frame of a program.

use crate::{Termination, documents, exit, log};
use bertha_core::Error;
use clap::{Command, Parser};
use std::fmt::Display;
use std::process::ExitCode;
use std::time::Duration;
use tokio::runtime::Builder;

/// Longest time for which the end of a program waits for its tasks.
const ENDING: Duration = Duration::from_millis(500);

/// Runs a program: reads its command line, writes its log to standard error, lets SIGINT and SIGTERM wait for
/// `execute`, and returns the [exit code](exit).
///
/// Each program has the subcommands `completion` and `man` beside its own subcommands. The caller must not
/// have started a thread yet.
pub fn run<A: Parser, E: Display>(execute: impl FnOnce(A, Termination) -> Result<(), E>) -> ExitCode {
    let command = documents::documented(A::command());
    let name = command.get_name().to_owned();
    let arguments = match parsed::<A>(command) {
        Ok(Asked::Work(arguments)) => arguments,
        Ok(Asked::Document(printed)) => return exit::code(&name, printed, false),
        Err(error) => {
            // If standard error is closed, the code alone tells of the error.
            let _ = error.print();
            return if error.use_stderr() { exit::USAGE.into() } else { exit::DONE.into() };
        }
    };
    log::to_stderr();
    let termination = match Termination::expect() {
        Ok(termination) => termination,
        Err(error) => {
            return exit::code(&name, Err(format!("no thread can wait for signals: {error}")), false);
        }
    };
    let outcome = execute(arguments, termination.clone()).map_err(|error| error.to_string());
    exit::code(&name, outcome, termination.has_interrupted())
}

/// Runs a program as [`run`] does, on tokio, with the threads that `runtime` asks for.
pub fn run_async<A, E, F>(runtime: &mut Builder, execute: impl FnOnce(A, Termination) -> F) -> ExitCode
where
    A: Parser,
    E: Display + From<Error>,
    F: Future<Output = Result<(), E>>,
{
    run(|arguments, termination| on(runtime, execute(arguments, termination)))
}

/// Runs a program as [`run_async`] does, with the threads for which its command line asks.
pub fn run_async_on<A, E, F>(
    runtime: impl FnOnce(&A) -> Builder,
    execute: impl FnOnce(A, Termination) -> F,
) -> ExitCode
where
    A: Parser,
    E: Display + From<Error>,
    F: Future<Output = Result<(), E>>,
{
    run(|arguments, termination| {
        let mut runtime = runtime(&arguments);
        on(&mut runtime, execute(arguments, termination))
    })
}

fn on<E: From<Error>>(runtime: &mut Builder, executed: impl Future<Output = Result<(), E>>) -> Result<(), E> {
    let runtime = runtime.enable_all().build().map_err(Error::from)?;
    let outcome = runtime.block_on(executed);
    // Datapaths end with their tasks. A call that blocks, such as reading a terminal, may never return.
    runtime.shutdown_timeout(ENDING);
    outcome
}

/// The request of a command line.
enum Asked<A> {
    Work(A),
    /// Completions or a manual page, which were printed or not.
    Document(Result<(), String>),
}

fn parsed<A: Parser>(command: Command) -> Result<Asked<A>, clap::Error> {
    let mut matches = command.clone().try_get_matches()?;
    match documents::print(&command, &matches) {
        Some(printed) => Ok(Asked::Document(printed)),
        None => {
            let arguments = A::from_arg_matches_mut(&mut matches);
            arguments.map(Asked::Work).map_err(|error| error.format(&mut command.clone()))
        }
    }
}
