//! Programs as agents install them.

use crate::{Error, ErrorKind};
use portus::lang::{self, Scope};
use portus::serialize;

/// A compiled program, as the messages with which an agent installs it and gives it to a flow.
pub(super) struct Compiled {
    scope: Scope,
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
        let install = serialize::install::Msg {
            sid: 0,
            program_uid: scope.program_uid,
            num_events: compiled.events.len() as u32,
            num_instrs: compiled.instrs.len() as u32,
            instrs: compiled,
        };
        Ok(Self { scope, install: serialize::serialize(&install).map_err(failed)? })
    }

    /// Returns the message that gives the program to a flow, with values for its registers.
    ///
    /// # Errors
    /// [`ErrorKind::Probe`] if the program has no register with a given name, or can't be encoded.
    pub(super) fn change(&self, flow: u32, values: &[(&str, u32)]) -> Result<Vec<u8>, Error> {
        let field = |(name, value): &(&str, u32)| {
            let register = self.scope.get(name).cloned();
            let register = register
                .ok_or_else(|| Error::new(ErrorKind::Probe, format!("a program has no register {name}")))?;
            Ok((register, u64::from(*value)))
        };
        let change = serialize::changeprog::Msg {
            sid: flow,
            program_uid: self.scope.program_uid,
            num_fields: values.len() as u32,
            fields: values.iter().map(field).collect::<Result<_, Error>>()?,
        };
        serialize::serialize(&change).map_err(failed)
    }
}

fn failed(error: portus::Error) -> Error {
    Error::new(ErrorKind::Probe, "encoding a message of an agent").because(error.0)
}
