//! The end of the records: a file, or a callback.

use super::json::Json;
use crate::reliable::target::TARGET;
use std::fmt;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A function that takes the number of a connection and a record.
pub(super) type Callback = Arc<dyn Fn(u64, &str) + Send + Sync>;

/// The bytes of records after which they are written to the file: one call of the system for some hundred records. The call copies them
/// into the page cache, so the connection's task waits for no disk.
const BUFFER: usize = 32 * 1024;

/// Room behind it for the record that fills the buffer.
const RECORD: usize = 4 * 1024;

/// The bytes in front of and behind each record (RFC 7464): a record separator and a line feed.
pub(super) const SEPARATOR: &str = "\u{1e}";
pub(super) const END: &str = "\n";

/// The end of the records of one connection.
pub(super) enum Sink {
    File {
        file: File,
        path: PathBuf,
        /// True once an error of any file of the folder was told.
        is_told: Arc<AtomicBool>,
    },
    Callback {
        connection: u64,
        callback: Callback,
    },
}

impl Sink {
    /// Returns the capacity of the buffer.
    pub(super) fn capacity(&self) -> usize {
        match self {
            Self::File { .. } => BUFFER + RECORD,
            Self::Callback { .. } => RECORD,
        }
    }

    /// Takes in whole records, and empties `records` once it has passed them on. Returns false if no more can be passed on.
    #[inline]
    pub(super) fn take(&mut self, records: &mut Json, is_last: bool) -> bool {
        match self {
            Self::File { .. } if records.len < BUFFER && !is_last => true,
            Self::File { file, path, is_told } => {
                let written = file.write_all(records.written());
                records.len = 0;
                written.inspect_err(|error| tell(path, error, is_told)).is_ok()
            }
            Self::Callback { connection, callback } => {
                // One record, between a separator and an end. A record is always text.
                let record = records.written().get(SEPARATOR.len()..records.len.saturating_sub(END.len()));
                if let Some(Ok(record)) = record.map(str::from_utf8) {
                    callback(*connection, record);
                }
                records.len = 0;
                true
            }
        }
    }
}

/// Tells once for each folder that a qlog can't be written.
#[cold]
pub(super) fn tell(path: &Path, error: &std::io::Error, is_told: &AtomicBool) {
    if !is_told.swap(true, Relaxed) {
        let path = path.display();
        tracing::warn!(target: TARGET, %path, %error, "a qlog can not be written, and ends; further errors in its folder are not told");
    }
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, .. } => path.fmt(f),
            Self::Callback { connection, .. } => write!(f, "callback of connection {connection}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reliable::qlog::log::Log;
    use std::fs::OpenOptions;
    use std::sync::Mutex;
    use std::time::Duration;
    use tracing_subscriber::fmt::MakeWriter;

    /// The lines of events.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl MakeWriter<'_> for Lines {
        type Writer = Self;

        fn make_writer(&self) -> Self {
            self.clone()
        }
    }

    /// Writing to this device fails as writing to a full disk does.
    #[test]
    fn a_full_disk_is_told_once_for_all_connections_and_ends_their_logs() {
        let lines = Lines::default();
        let subscriber = tracing_subscriber::fmt().with_writer(lines.clone()).with_ansi(false).finish();
        let is_told = Arc::new(AtomicBool::new(false));
        tracing::subscriber::with_default(subscriber, || {
            for _ in 0..2 {
                let path = PathBuf::from("/dev/full");
                let file = OpenOptions::new().write(true).open(&path).unwrap();
                let mut log = Log::new(Sink::File { file, path, is_told: is_told.clone() }, u64::MAX);
                for number in 0..10_000 {
                    log.packet_lost(Duration::from_millis(number), number, true);
                }
                // Nothing waits any more.
                assert_eq!(log.json.len, 0);
            }
        });
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(
            text.contains("WARN") && text.contains("path=/dev/full") && text.contains("No space left"),
            "{text}"
        );
    }

    #[test]
    fn a_file_gets_whole_records_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let file = File::create(&path).unwrap();
        let mut log = Log::new(Sink::File { file, path: path.clone(), is_told: Arc::default() }, u64::MAX);
        let size = || std::fs::metadata(&path).unwrap().len();
        let mut sizes = std::collections::BTreeSet::new();
        for number in 0..1_000 {
            log.packet_lost(Duration::from_millis(number), number, false);
            sizes.insert(size());
        }
        assert!(sizes.len() >= 3 && sizes.len() <= 6, "{sizes:?}");
        drop(log);
        assert!(std::fs::read_to_string(&path).unwrap().ends_with("\"reordering_threshold\"}}\n"));
    }
}
