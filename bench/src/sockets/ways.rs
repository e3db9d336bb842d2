//! The ways by which a program's sockets work, and the daemon that one of them needs.

use crate::{Error, ErrorKind};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A way by which a program's sockets work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// The kernel's TCP.
    Kernel,
    /// Its sockets are taken over by `bertha run`.
    Taken,
}

impl Way {
    /// Returns the command that starts a program this way.
    ///
    /// # Errors
    /// [`ErrorKind::Core`] if `bertha` is not beside this program.
    pub(super) fn command(self, program: impl Into<PathBuf>) -> Result<Command, Error> {
        let program = program.into();
        Ok(match self {
            Self::Kernel => Command::new(program),
            Self::Taken => {
                let mut command = Command::new(beside("bertha")?);
                command.args(["run", "--"]).arg(program);
                command
            }
        })
    }
}

/// Returns the variables that `bertha run` adds to the environment of a program.
///
/// # Errors
/// [`ErrorKind::Core`] if `bertha` is not beside this program, or does not run.
pub(super) fn environment() -> Result<Vec<(OsString, OsString)>, Error> {
    let output = Way::Taken.command("env")?.arg("-0").output();
    let output = output.map_err(Error::while_doing(ErrorKind::Core, "starting `bertha run`"))?;
    let variables = output.stdout.split(|byte| *byte == 0).filter_map(|line| {
        let at = line.iter().position(|byte| *byte == b'=')?;
        let (name, value) = (OsStr::from_bytes(&line[..at]), OsStr::from_bytes(&line[at + 1..]));
        let is_new = std::env::var_os(name).as_deref() != Some(value);
        is_new.then(|| (name.to_owned(), value.to_owned()))
    });
    Ok(variables.collect())
}

/// The daemon of sockets, which is ended when the value is dropped.
#[derive(Debug)]
pub(super) struct Daemon(Child);

impl Daemon {
    /// Starts the daemon.
    ///
    /// # Errors
    /// [`ErrorKind::Core`] if it is not beside this program, or does not start.
    pub(super) fn start() -> Result<Self, Error> {
        beside("libbertha_sockets.so")?;
        let process = Command::new(beside("bertha-socketd")?).stdout(Stdio::null()).spawn();
        let process = process.map_err(Error::while_doing(ErrorKind::Core, "starting bertha-socketd"))?;
        let mut daemon = Self(process);
        std::thread::sleep(Duration::from_millis(500));
        match daemon.0.try_wait() {
            Ok(None) => Ok(daemon),
            _ => Err(Error::new(ErrorKind::Core, "bertha-socketd ends at once")),
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the path of this program.
///
/// # Errors
/// [`ErrorKind::Core`] if the system does not tell.
pub(super) fn this_program() -> Result<PathBuf, Error> {
    std::env::current_exe().map_err(Error::while_doing(ErrorKind::Core, "finding the running program"))
}

/// Returns the path of a file beside this program.
///
/// # Errors
/// [`ErrorKind::Core`] if it is not there.
pub(super) fn beside(name: &str) -> Result<PathBuf, Error> {
    let here = this_program()?;
    let path = here.with_file_name(name);
    let missing = || {
        let packages = "bertha-sockets-preload, bertha-socketd and apps/bertha";
        Error::new(
            ErrorKind::Core,
            format!("{name} is not beside this program; build {packages} with its profile"),
        )
    };
    if path.exists() { Ok(path) } else { Err(missing()) }
}
