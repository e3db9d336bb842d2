//! The count of handshakes.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The handshakes of the connections that share a configuration.
#[derive(Debug, Default)]
pub(crate) struct HandshakeCount {
    done: AtomicU64,
    resumed: AtomicU64,
    failed: AtomicU64,
}

impl HandshakeCount {
    /// Counts a handshake that is done; it resumed an earlier session or not.
    pub(crate) fn done(&self, is_resumed: bool) {
        self.done.fetch_add(1, Relaxed);
        self.resumed.fetch_add(is_resumed.into(), Relaxed);
    }

    pub(crate) fn failed(&self) {
        self.failed.fetch_add(1, Relaxed);
    }

    /// Returns the handshakes that are done, those of them that resumed a session, and those that failed.
    pub(crate) fn get(&self) -> [u64; 3] {
        [&self.done, &self.resumed, &self.failed].map(|count| count.load(Relaxed))
    }
}
