//! The errors of a transfer.

use crate::Refusal;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The reason why a file was not transferred.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// An operation on a file or a directory of this machine failed.
    File {
        /// The operation that failed.
        doing: &'static str,
        /// Path of the file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The path names no file, or a file that a receiver would not accept.
    Name(PathBuf),
    /// The path leads to something that is no file, such as a directory, a pipe or a device.
    NotAFile {
        /// The path.
        path: PathBuf,
        /// The thing at the path, in words.
        is: &'static str,
    },
    /// The file became shorter while it was sent.
    Changed(PathBuf),
    /// The connection failed, or could not be made.
    Connection(bertha::Error),
    /// The receiver does not accept the file.
    Refused(Refusal),
    /// The peer broke the protocol: it sent this message out of turn.
    OutOfTurn(&'static str),
    /// This end, as the receiver, did not accept the file.
    Declined(Refusal),
}

impl Error {
    /// Returns a function for `map_err`: it adds the failed operation and the file at `path`.
    pub(crate) fn file<'a>(doing: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Self + use<'a> {
        move |source| Self::File { doing, path: path.to_owned(), source }
    }

    /// Returns true if a new connection may succeed.
    pub(crate) fn passes(&self) -> bool {
        use bertha::ErrorKind;
        match self {
            Self::Connection(error) => {
                use ErrorKind::{Invalid, Refused, Unauthenticated, Version};
                !matches!(error.kind(), Refused | Version | Invalid | Unauthenticated)
            }
            Self::Refused(refusal) => refusal.passes(),
            _ => false,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { doing, path, source } => write!(f, "{doing} {}: {source}", path.display()),
            Self::Name(path) => write!(f, "{} is not the name of a file that can be sent", path.display()),
            Self::NotAFile { path, is } => {
                write!(
                    f,
                    "{} is {is}; only files are sent, since the receiver checks length and content",
                    path.display()
                )
            }
            Self::Changed(path) => write!(f, "{} became shorter while it was sent", path.display()),
            Self::Connection(error) => error.fmt(f),
            Self::Refused(refusal) => write!(f, "the receiver refuses the file: {refusal}"),
            Self::OutOfTurn(said) => {
                write!(f, "the other end broke the protocol: it said {said} out of turn")
            }
            Self::Declined(refusal) => write!(f, "refused the file: {refusal}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File { source, .. } => Some(source),
            Self::Connection(error) => Some(error),
            _ => None,
        }
    }
}

impl From<bertha::Error> for Error {
    fn from(error: bertha::Error) -> Self {
        Self::Connection(error)
    }
}
