//! The events of `tracing` that a test causes.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use tracing::Level;
use tracing::subscriber::DefaultGuard;

/// The events of this thread as lines of text.
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
    /// Captures the events until the guard is dropped.
    pub(crate) fn capture() -> (Self, DefaultGuard) {
        let lines = Self::default();
        let writer = lines.clone();
        let log = tracing_subscriber::fmt().with_max_level(Level::TRACE).with_ansi(false).without_time();
        let guard = tracing::subscriber::set_default(log.with_writer(move || writer.clone()).finish());
        (lines, guard)
    }

    /// Returns the lines that contain all of these texts.
    pub(crate) fn with(&self, texts: &[&str]) -> Vec<String> {
        let lines = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        let has_all = |line: &&str| texts.iter().all(|text| line.contains(text));
        lines.lines().filter(has_all).map(str::to_owned).collect()
    }

    /// Checks that an event with these texts was told.
    pub(crate) fn expect(&self, texts: &[&str]) {
        assert!(!self.with(texts).is_empty(), "nothing told {texts:?}: {:#?}", self.with(&[texts[0]]));
    }
}
