//! What can go wrong while measuring.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;

/// The part of a measurement that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A socket could not be opened, read or written.
    Socket,
    /// A thread could not be started, or could not be pinned to its core.
    Core,
    /// A connection of Bertha could not be made or failed.
    Bertha,
    /// A message did not fit its datagram or could not be encoded.
    Codec,
    /// A peer stopped answering.
    Stalled,
    /// There is no probe of that name.
    Probe,
    /// Valgrind is not installed.
    NoValgrind,
    /// Valgrind ran but gave no count.
    Valgrind,
    /// A program could not be run instruction by instruction.
    Tracer,
    /// A generated program could not be compiled.
    Compiler,
    /// The report could not be written.
    Report,
}

/// A failed measurement: its [kind](ErrorKind), what was being done, and the cause.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    doing: Cow<'static, str>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// An error without a cause of its own. `doing` says what failed and what to do about it.
    pub fn new(kind: ErrorKind, doing: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, doing: doing.into(), source: None }
    }

    /// Adds the cause.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// For `map_err`: an error of this kind, doing this, with the mapped error as the cause.
    pub fn while_doing<E>(kind: ErrorKind, doing: impl Into<Cow<'static, str>>) -> impl FnOnce(E) -> Self
    where
        E: Into<Box<dyn StdError + Send + Sync>>,
    {
        move |source| Self::new(kind, doing).because(source)
    }

    /// The part of the measurement that failed.
    pub fn kind(&self) -> ErrorKind {
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
