//! The program whose probes are counted: this one, or another build of it.

use crate::{Error, ErrorKind};
use std::ffi::OsString;
use std::path::PathBuf;

/// A build of this program.
#[derive(Clone, Debug)]
pub(crate) struct Program(PathBuf);

impl Program {
    /// The running one. An error of this kind when the system does not say which that is.
    pub(crate) fn running(otherwise: ErrorKind) -> Result<Self, Error> {
        std::env::current_exe()
            .map(Self)
            .map_err(Error::while_doing(otherwise, "finding the running program"))
    }

    pub(crate) fn at(binary: impl Into<PathBuf>) -> Self {
        Self(binary.into())
    }

    /// What is written on a command line to run a probe: the program, and its arguments. An error for no iterations, by which
    /// nothing could be divided.
    pub(crate) fn command_line(&self, probe: &str, iterations: u64) -> Result<[OsString; 5], Error> {
        if iterations == 0 {
            return Err(Error::new(ErrorKind::Probe, format!("probe {probe} needs at least one iteration")));
        }
        let iterations = iterations.to_string().into();
        Ok([self.0.clone().into(), "probe".into(), probe.into(), "--iterations".into(), iterations])
    }
}
