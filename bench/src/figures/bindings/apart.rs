//! Programs whose two ends are processes: in Python, or this program.

use crate::harness::run_on;
use crate::{Error, ErrorKind};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A program with a server and a client.
#[derive(Clone, Copy, Debug)]
pub(super) enum Program {
    /// A file of `bindings/python/speed`, and the way in which it works.
    Python(&'static str, &'static str),
    /// This program.
    Rust,
}

impl Program {
    /// Returns the command for one end, such as `serve` or `echo`.
    fn command(self, end: &str) -> Result<Command, Error> {
        let mut command;
        match self {
            Self::Python(file, way) => {
                let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bindings/python/speed/run");
                command = Command::new(run);
                command.args([file, end, way]);
            }
            Self::Rust => {
                command = Command::new(std::env::current_exe().map_err(failed)?);
                command.arg(format!("bindings-{end}"));
            }
        }
        Ok(command)
    }
}

/// A server, which is killed when the value is dropped.
#[derive(Debug)]
pub(super) struct Server {
    program: Program,
    process: Child,
    address: String,
}

impl Server {
    /// Starts a server on a core.
    ///
    /// # Errors
    /// [`ErrorKind::Core`] if the program is not installed.
    pub(super) fn start(program: Program, core: usize) -> Result<Self, Error> {
        let mut command = program.command("serve")?;
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let process = run_on(core, || command.spawn().map_err(failed))?;
        let mut server = Self { program, process, address: String::new() };
        let output = server.process.stdout.take();
        let output = output.ok_or_else(|| Error::new(ErrorKind::Core, "a server has no output"))?;
        BufReader::new(output).read_line(&mut server.address).map_err(failed)?;
        if server.address.is_empty() {
            let what =
                "a server has ended at once; `bindings/python/speed/run install` installs what it needs";
            return Err(Error::new(ErrorKind::Core, what));
        }
        Ok(server)
    }

    /// Runs a client on a core for some seconds, and returns the number that it prints.
    ///
    /// # Errors
    /// [`ErrorKind::Stalled`] if the client prints none.
    pub(super) fn rate(&self, end: &str, number: usize, seconds: f64, core: usize) -> Result<f64, Error> {
        let mut command = self.program.command(end)?;
        command.args([self.address.trim(), &number.to_string(), &seconds.to_string()]);
        let output = run_on(core, || command.stderr(Stdio::inherit()).output().map_err(failed))?;
        let printed = String::from_utf8_lossy(&output.stdout);
        printed.trim().parse().map_err(Error::while_doing(ErrorKind::Stalled, "reading the rate of a client"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may have ended by itself.
        let _ = (self.process.kill(), self.process.wait());
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::while_doing(ErrorKind::Core, "running a program of the bindings")(error)
}
