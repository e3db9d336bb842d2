//! Errors of the system.

use bertha_core::Error;

/// Returns an error of the system with the step that failed.
pub(crate) fn at(error: std::io::Error, step: impl std::fmt::Display) -> Error {
    let kind = Error::from(std::io::Error::from(error.kind())).kind();
    Error::new(kind, format!("{step}: {error}"))
}
