//! Noticing that a connection to the server has gone silent.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time since which the server owes an answer, if it does.
///
/// A firewall that forgot about a connection drops its packets in silence. The client library notices a request that goes without
/// answer for its own time limit; but a caller may wait for a shorter time, and drop the request.
#[derive(Debug, Default)]
pub(super) struct Silence(Mutex<Option<Instant>>);

impl Silence {
    /// A request goes out.
    pub(super) fn on_request(&self) {
        self.with(|since| *since.get_or_insert_with(Instant::now));
    }

    /// An answer came, or was given up.
    pub(super) fn on_answer(&self) {
        self.with(|since| *since = None);
    }

    /// Whether an answer is owed for so long.
    pub(super) fn has_lasted(&self, limit: Duration) -> bool {
        self.with(|since| since.is_some_and(|since| since.elapsed() >= limit))
    }

    fn with<T>(&self, work: impl FnOnce(&mut Option<Instant>) -> T) -> T {
        // Nothing panics under the lock.
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
