//! The congestion marks on a connection's datagrams.

use bertha_core::EcnMarks;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of datagrams that arrived with a mark. Relaxed accesses suffice, since no value depends on
/// another value.
#[derive(Debug, Default)]
pub(crate) struct Marked {
    datagrams: AtomicU64,
    bytes: AtomicU64,
}

impl Marked {
    /// Counts a marked datagram of `len` bytes.
    pub(crate) fn add(&self, len: usize) {
        self.datagrams.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(len as u64, Ordering::Relaxed);
    }

    /// Returns the marks counted so far.
    pub(crate) fn marks(&self) -> EcnMarks {
        let [datagrams, bytes] = [&self.datagrams, &self.bytes].map(|number| number.load(Ordering::Relaxed));
        EcnMarks { datagrams, bytes }
    }
}
