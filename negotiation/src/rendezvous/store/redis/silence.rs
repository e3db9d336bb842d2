//! Detecting a silent connection to the server.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time since which an answer of the server is missing, if it is.
///
/// A firewall that has forgotten a connection drops its packets silently. The client library notices a
/// request that stays without an answer for the library's own time limit; but a caller may wait for a shorter
/// time, and drop the request.
#[derive(Debug, Default)]
pub(super) struct Silence(Mutex<Option<Instant>>);

impl Silence {
    /// Records that a request is sent.
    pub(super) fn on_request(&self) {
        self.with(|since| *since.get_or_insert_with(Instant::now));
    }

    /// Records that an answer came, or was given up.
    pub(super) fn on_answer(&self) {
        self.with(|since| *since = None);
    }

    /// Returns true if an answer has been missing for `limit`.
    pub(super) fn has_lasted(&self, limit: Duration) -> bool {
        self.with(|since| since.is_some_and(|since| since.elapsed() >= limit))
    }

    fn with<T>(&self, work: impl FnOnce(&mut Option<Instant>) -> T) -> T {
        // No code under the lock panics.
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
