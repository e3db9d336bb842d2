//! Programs as agents install them.

use crate::{Error, ErrorKind};
use portus::{lang, serialize};

/// A compiled program, in the bytes of the messages with which an agent installs it and gives it to a flow.
pub(super) struct Compiled {
    program: u32,
    pub(super) install: Vec<u8>,
}

impl Compiled {
    /// Compiles a program.
    ///
    /// # Errors
    /// [`ErrorKind::Probe`] if it has a mistake.
    pub(super) fn of(source: &str) -> Result<Self, Error> {
        let (compiled, scope) = lang::compile(source.as_bytes(), &[])
            .map_err(|error| Error::new(ErrorKind::Probe, format!("compiling a program: {error}")))?;
        let program = scope.program_uid;
        let install = serialize::install::Msg {
            sid: 0,
            program_uid: program,
            num_events: compiled.events.len() as u32,
            num_instrs: compiled.instrs.len() as u32,
            instrs: compiled,
        };
        Ok(Self { program, install: serialize::serialize(&install).map_err(failed)? })
    }

    /// The message that gives it to a flow.
    ///
    /// # Errors
    /// [`ErrorKind::Probe`] if it can't be encoded.
    pub(super) fn change(&self, flow: u32) -> Result<Vec<u8>, Error> {
        let change = serialize::changeprog::Msg {
            sid: flow,
            program_uid: self.program,
            num_fields: 0,
            fields: Vec::new(),
        };
        serialize::serialize(&change).map_err(failed)
    }
}

fn failed(error: portus::Error) -> Error {
    Error::new(ErrorKind::Probe, "encoding a message of an agent").because(error.0)
}
