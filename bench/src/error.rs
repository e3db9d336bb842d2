//! Failures of a measurement.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;

/// The part of a measurement that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    /// A socket could not be opened, read or written.
    Socket,
    /// A thread could not be started or pinned to its core, or the machine lacks another requirement.
    Core,
    /// A connection of Bertha could not be made or failed.
    Bertha,
    /// A message did not fit into its datagram or could not be encoded.
    Codec,
    /// The peer stopped answering.
    Stalled,
    /// There is no probe with this name.
    Probe,
    /// Valgrind is not installed.
    NoValgrind,
    /// Valgrind ran but gave no count.
    Valgrind,
    /// A program could not be compiled.
    Compiler,
    /// The report could not be written.
    Report,
    /// A trace of a link could not be read.
    Trace,
}

/// A failed measurement: its [kind](ErrorKind), the failed step, and the cause.
#[derive(Debug)]
pub(crate) struct Error {
    kind: ErrorKind,
    doing: Cow<'static, str>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// Creates an error without a cause of its own. `doing` names the failed step and the remedy.
    pub(crate) fn new(kind: ErrorKind, doing: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, doing: doing.into(), source: None }
    }

    /// Adds the cause.
    #[must_use]
    pub(crate) fn because(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Returns a function for `map_err`, which makes an error of this kind with the mapped error as the
    /// cause.
    pub(crate) fn while_doing<E>(
        kind: ErrorKind,
        doing: impl Into<Cow<'static, str>>,
    ) -> impl FnOnce(E) -> Self
    where
        E: Into<Box<dyn StdError + Send + Sync>>,
    {
        move |source| Self::new(kind, doing).because(source)
    }

    /// Returns the part of the measurement that failed.
    pub(crate) fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.doing)?;
        match &self.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_ref().map(|source| &**source as _)
    }
}
