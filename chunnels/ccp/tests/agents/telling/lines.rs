//! The lines of the log.

use std::io::{Result, Write};
use std::sync::{Arc, Mutex};
use tracing_subscriber::fmt::MakeWriter;

/// The lines that were written.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Lines {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

/// Returns the lines that this thread writes during `work`.
pub(crate) fn lines_of(work: impl FnOnce()) -> Vec<String> {
    let lines = Lines::default();
    let subscriber = tracing_subscriber::fmt().with_writer(lines.clone()).with_ansi(false).finish();
    tracing::subscriber::with_default(subscriber, work);
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    text.lines().map(str::to_owned).collect()
}
