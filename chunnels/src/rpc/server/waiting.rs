//! The memory of requests that no handler has taken.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The bytes of the requests of a connection that wait for their handlers, in all its streams, and their limit.
#[derive(Debug)]
pub(super) struct Waiting {
    bytes: AtomicUsize,
    limit: usize,
}

impl Waiting {
    pub(super) fn new(limit: usize) -> Self {
        Self { bytes: AtomicUsize::new(0), limit }
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// Adds a request, if there is room for it. Without others there is always room, so that no limit is below a request.
    pub(super) fn add(&self, bytes: usize) -> bool {
        let with = |waiting: usize| waiting.saturating_add(bytes);
        let has_room = |waiting: usize| waiting == 0 || with(waiting) <= self.limit;
        self.bytes.fetch_update(Relaxed, Relaxed, |waiting| has_room(waiting).then(|| with(waiting))).is_ok()
    }

    /// Removes requests that were taken or dropped.
    pub(super) fn remove(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Relaxed);
    }
}
