//! Errors of this datapath.

use bertha_core::{Error, ErrorKind};
use std::borrow::Cow;
use std::io;

/// Name of the datapath in errors.
pub(crate) const NAME: &str = "Caladan";

/// `ENOBUFS`.
const NO_BUFFERS: i32 = 105;

/// Returns an error of this datapath.
#[cold]
pub(crate) fn failure(kind: ErrorKind, what: impl Into<Cow<'static, str>>) -> Error {
    Error::new(kind, what).at(NAME)
}

/// Returns Caladan's error with the step that failed.
#[cold]
pub(crate) fn failed(error: io::Error, doing: &str) -> Error {
    let kind = match error.raw_os_error() {
        Some(NO_BUFFERS) => ErrorKind::Exhausted,
        _ => Error::from(io::Error::from(error.kind())).kind(),
    };
    failure(kind, format!("cannot {doing}: {error}")).because(error)
}
