//! The reasons why no types are generated.

use bertha_schemas::Unsuitable;
use std::path::PathBuf;
use std::{fmt, io};

/// The reason why no types are generated.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file is no protobuf, or is not found.
    Protobuf(protox::Error),
    /// The methods of these files, or the types that they reach, are no schema.
    Unsuitable {
        /// The names of the files.
        files: String,
        /// The reason.
        reason: Unsuitable,
    },
    /// Two parts of a schema would have one name in Rust.
    Clash {
        /// The name of the file.
        file: String,
        /// The full name of the message, enumeration, service or package that has both.
        scope: String,
        /// The name that both would have.
        name: String,
    },
    /// The environment has no `OUT_DIR`.
    NoOutDir,
    /// A generated file is not written.
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        reason: io::Error,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Its `Debug` has the file and the line.
            Self::Protobuf(error) if error.is_file_not_found() => {
                write!(f, "{error:?}: add the folder that has it to the includes")
            }
            Self::Protobuf(error) => write!(f, "{error:?}"),
            Self::Unsuitable { files, reason } => write!(f, "{files}: {reason}"),
            Self::Clash { file, scope, name } => {
                write!(f, "{file}: two parts of `{scope}` would be `{name}` in Rust: rename one of them")
            }
            Self::NoOutDir => f.write_str("`OUT_DIR` is not set: call this function in a build script"),
            Self::Write { path, reason } => write!(f, "cannot write `{}`: {reason}", path.display()),
        }
    }
}

impl std::error::Error for Error {}
