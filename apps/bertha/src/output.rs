//! Standard output, which may be closed by its reader at any time.

use bertha::{Error, ErrorKind};
use serde::Serialize;
use std::io::{self, Write};

/// Writes `text` and the end of the line.
///
/// # Errors
/// Fails if standard output is closed.
pub(crate) fn line(text: impl AsRef<str>) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", text.as_ref())?;
    Ok(out.flush()?)
}

/// Writes `value` as JSON, in a single line.
///
/// # Errors
/// Fails as [`line`] does.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Error> {
    let text = serde_json::to_string(value)
        .map_err(|error| Error::new(ErrorKind::Io, "the result can't be written as JSON").because(error))?;
    line(text)
}

/// Returns true if standard output was closed by its reader, as `head` does.
pub(crate) fn is_closed(error: &Error) -> bool {
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<io::Error>());
    source.is_some_and(|source| source.kind() == io::ErrorKind::BrokenPipe)
}
