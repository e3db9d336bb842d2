//! The log of a test.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

/// The warnings of one thread as lines of text.
#[derive(Clone, Default)]
pub(crate) struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    /// Captures the warnings until the guard is dropped.
    pub(crate) fn capture() -> (Self, impl Drop) {
        let lines = Self::default();
        let writer = lines.clone();
        let log = tracing_subscriber::fmt().with_max_level(tracing::Level::WARN).with_ansi(false);
        let guard = tracing::subscriber::set_default(log.with_writer(move || writer.clone()).finish());
        (lines, guard)
    }

    /// Returns the lines with this text.
    pub(crate) fn with(&self, text: &str) -> Vec<String> {
        let lines = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        lines.lines().filter(|line| line.contains(text)).map(str::to_owned).collect()
    }
}
