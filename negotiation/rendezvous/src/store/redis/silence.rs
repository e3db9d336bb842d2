//! Noticing that nothing comes of a connection any more.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Since when the server owes an answer and nothing was heard of it, if it does.
///
/// A firewall that forgot about a connection says so to nobody. The client library notices when a request goes without answer for
/// so long; but whoever asks may wait less long, and drop the request.
#[derive(Debug, Default)]
pub(super) struct Silence(Mutex<Option<Instant>>);

impl Silence {
    /// A request goes out.
    pub(super) fn asked(&self) {
        self.with(|since| *since.get_or_insert_with(Instant::now));
    }

    /// Something came.
    pub(super) fn heard(&self) {
        self.with(|since| *since = None);
    }

    /// Whether nothing has come for so long though something was asked.
    pub(super) fn has_lasted(&self, patience: Duration) -> bool {
        self.with(|since| since.is_some_and(|since| since.elapsed() >= patience))
    }

    fn with<T>(&self, work: impl FnOnce(&mut Option<Instant>) -> T) -> T {
        // Nothing panics under the lock.
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
