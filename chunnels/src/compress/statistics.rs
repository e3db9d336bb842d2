//! The work of compression, for people who ask what a connection does.

use bertha_core::Statistics;
use bertha_core::statistics::{LayerStatistics, Observed, Value};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The messages that this end of a connection of [`Compress`](super::Compress) has compressed since it began. Messages that
/// are too short or too long, or that do not become shorter, are stored, and are not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompressStatistics {
    /// Messages that were sent compressed.
    pub compressed_messages: u64,
    /// Bytes of these messages before compression.
    pub bytes_before: u64,
    /// Bytes of these messages after compression.
    pub bytes_after: u64,
}

impl LayerStatistics for CompressStatistics {
    fn values(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("compressed_messages", Value::Total(self.compressed_messages)),
            ("before", Value::TotalBytes(self.bytes_before)),
            ("after", Value::TotalBytes(self.bytes_after)),
        ]
    }
}

/// The counters of a connection.
#[derive(Debug, Default)]
pub(super) struct CompressCounts {
    messages: AtomicU64,
    before: AtomicU64,
    after: AtomicU64,
}

impl CompressCounts {
    /// Counts a message that was compressed, which costs thousands of instructions beside these additions.
    pub(super) fn add(&self, before: usize, after: usize) {
        self.messages.fetch_add(1, Relaxed);
        self.before.fetch_add(before as u64, Relaxed);
        self.after.fetch_add(after as u64, Relaxed);
    }
}

impl Observed for CompressCounts {
    fn observe(&self, into: &mut Statistics) {
        let statistics = CompressStatistics {
            compressed_messages: self.messages.load(Relaxed),
            bytes_before: self.before.load(Relaxed),
            bytes_after: self.after.load(Relaxed),
        };
        into.add("Compress", statistics);
    }
}
