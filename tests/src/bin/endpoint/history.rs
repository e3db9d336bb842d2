//! The history of a process, line by line, in a file that outlives it.

use bertha_core::Error;
use std::fmt;
use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::time::SystemTime;

/// A file to which each line is written at once, so that a kill loses no line.
#[derive(Debug, Clone)]
pub(crate) struct History(Arc<File>);

impl History {
    pub(crate) fn create(path: &str) -> Result<Self, Error> {
        Ok(Self(Arc::new(File::create_new(path).map_err(Error::from)?)))
    }

    /// Adds a line, with the time in milliseconds in front, for human readers.
    pub(crate) fn say(&self, what: fmt::Arguments<'_>) {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let line = format!("{} {what}\n", now.as_millis());
        if (&*self.0).write_all(line.as_bytes()).is_err() {
            // Without a history there is nothing to check.
            std::process::abort();
        }
    }
}
