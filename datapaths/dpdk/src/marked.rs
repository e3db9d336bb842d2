//! The marks for congestion on a connection's datagrams.

use bertha_core::Marks;
use std::sync::atomic::{AtomicU64, Ordering};

/// The datagrams that arrived with a mark, counted. Relaxed accesses do, since each number stands for itself.
#[derive(Debug, Default)]
pub(crate) struct Marked {
    datagrams: AtomicU64,
    bytes: AtomicU64,
}

impl Marked {
    /// Takes in a marked datagram of `len` bytes.
    pub(crate) fn add(&self, len: usize) {
        self.datagrams.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(len as u64, Ordering::Relaxed);
    }

    /// The marks so far.
    pub(crate) fn marks(&self) -> Marks {
        let [datagrams, bytes] = [&self.datagrams, &self.bytes].map(|number| number.load(Ordering::Relaxed));
        Marks { datagrams, bytes }
    }
}
