//! The commands of ends that no common program is: processes of this program.

use super::ways::{Way, this_program};
use crate::{Error, ErrorKind};
use std::process::Command;

#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct ServeOptions {
    pub(super) port: u16,
    /// Bytes of a message, which is taken and not echoed
    #[arg(long, requires = "every")]
    pub(super) takes: Option<usize>,
    /// Number of messages behind each of which the server tells its processor time
    #[arg(long)]
    pub(super) every: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Work {
    /// A connection that waits for each reply: prints the median in microseconds
    Ask,
    /// Connections of one request each: prints their number per second
    Connect,
    /// GET and SET of memcached by 50 connections: prints their number per second
    Memcached,
    /// A connection with so many requests, which is then unused until the process is killed
    Idle,
    /// So many requests, for the instruction counter: prints nothing
    Calls,
    /// Messages without replies, two rounds of so many: prints those per second, and the processor time of a message in microseconds
    Send,
}

#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct AskOptions {
    pub(super) work: Work,
    pub(super) port: u16,
    pub(super) count: u32,
    /// Bytes of a message
    #[arg(long, default_value_t = 64)]
    pub(super) bytes: usize,
}

/// Returns the command of an end that serves.
pub(super) fn serving(way: Way, port: u16) -> Result<Command, Error> {
    let mut command = way.command(this_program()?)?;
    command.args(["sockets-serve", &port.to_string()]);
    Ok(command)
}

/// Returns the command of an end that asks.
pub(super) fn asking(way: Way, work: Work, port: u16, count: u32) -> Result<Command, Error> {
    let mut command = way.command(this_program()?)?;
    command.arg("sockets-ask").args(words(work, port));
    command.arg(count.to_string());
    Ok(command)
}

/// Returns the words before the number of requests.
pub(super) fn words(work: Work, port: u16) -> [String; 2] {
    let value = clap::ValueEnum::to_possible_value(&work);
    [value.map(|it| it.get_name().to_owned()).unwrap_or_default(), port.to_string()]
}

/// Runs an end that asks, and returns the number it prints.
pub(super) fn answer(command: Command) -> Result<f64, Error> {
    answers(command).map(|[number]| number)
}

/// Runs an end that asks, and returns the numbers it prints.
pub(super) fn answers<const N: usize>(mut command: Command) -> Result<[f64; N], Error> {
    let output = command.output().map_err(Error::while_doing(ErrorKind::Core, "starting an end"))?;
    let words = String::from_utf8_lossy(&output.stdout);
    let numbers: Result<Vec<f64>, _> = words.split_whitespace().map(str::parse).collect();
    let numbers = numbers.ok().and_then(|numbers| numbers.try_into().ok());
    numbers.ok_or_else(|| super::failed("an end", &output))
}
