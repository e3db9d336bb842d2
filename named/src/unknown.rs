//! Text that names nothing.

use bertha::{Error, ErrorKind};
use std::fmt;

/// The reason why a text is no stack, no datapath, no setting, or no value of one, for human readers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown(String);

impl Unknown {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unknown {}

impl From<Unknown> for Error {
    fn from(unknown: Unknown) -> Self {
        Self::new(ErrorKind::Invalid, unknown.0)
    }
}
