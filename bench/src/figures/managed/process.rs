//! A process of a measurement.

use crate::{Error, ErrorKind};
use rustix::process::{Pid, Signal};
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

/// A process that is killed when the value is dropped.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    /// Held, so that the process never writes to a pipe that is closed.
    output: BufReader<ChildStdout>,
}

impl Process {
    /// Starts a command on the cores of the calling thread.
    pub(super) fn start(command: &mut Command) -> Result<Self, Error> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(failed)?;
        let output =
            child.stdout.take().ok_or_else(|| Error::new(ErrorKind::Core, "a process has no output"))?;
        Ok(Self { child, output: BufReader::new(output) })
    }

    /// Starts this program with other arguments.
    pub(super) fn of_this_program(arguments: &[&str]) -> Result<Self, Error> {
        Self::start(Command::new(std::env::current_exe().map_err(failed)?).args(arguments))
    }

    /// Waits until the process writes a line with `words`, and returns the text behind them.
    pub(super) fn says(&mut self, words: &str) -> Result<String, Error> {
        let mut line = String::new();
        loop {
            line.clear();
            if self.output.read_line(&mut line).map_err(failed)? == 0 {
                return Err(Error::new(ErrorKind::Core, format!("a process ended before it said {words:?}")));
            }
            if let Some((_, rest)) = line.split_once(words) {
                return Ok(rest.trim().to_owned());
            }
        }
    }

    /// Stops the process: it does nothing any more until it is killed.
    pub(super) fn stop(&self) -> Result<(), Error> {
        rustix::process::kill_process(Pid::from_child(&self.child), Signal::STOP)
            .map_err(|error| failed(error.into()))
    }

    /// Returns the number of MiB of the process in memory.
    pub(super) fn memory(&self) -> Result<f64, Error> {
        self.mebibytes("VmRSS:")
    }

    /// Returns the most MiB of the process that were in memory at once.
    pub(super) fn peak_memory(&self) -> Result<f64, Error> {
        self.mebibytes("VmHWM:")
    }

    /// Returns the number of MiB in memory that are not those of the program's file, which all processes of a program share.
    pub(super) fn own_memory(&self) -> Result<f64, Error> {
        Ok(self.mebibytes("RssAnon:")? + self.mebibytes("RssShmem:")?)
    }

    fn mebibytes(&self, line: &str) -> Result<f64, Error> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).map_err(failed)?;
        let line = status.lines().find_map(|text| text.strip_prefix(line));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        kib.map(|kib| kib / 1024.0).ok_or_else(|| Error::new(ErrorKind::Core, "a process has no memory"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The process may have ended by itself.
        let _ = (self.child.kill(), self.child.wait());
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::while_doing(ErrorKind::Core, "running a process of a chain")(error)
}
