//! The state that the operations of a connection share.

use crate::failure::Failure;
use crate::receiving::Receiving;
use crate::sending::Sending;
use crate::task::Task;
use bertha::Buf;
use bertha_named::AnyConnection;
use parking_lot::Mutex;
use pyo3::PyResult;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A connection, which its operations share.
pub(crate) struct Shared {
    pub(crate) any: Arc<dyn AnyConnection>,
    pub(crate) receiving: Receiving,
    pub(super) sending: Arc<Sending>,
    /// Present once the connection is being closed.
    pub(super) closing: Mutex<Option<Task<()>>>,
    pub(super) counts: [AtomicU64; 4],
}

impl Shared {
    pub(super) fn new(any: Arc<dyn AnyConnection>) -> Self {
        let (receiving, sending) = (Receiving::new(any.clone()), Sending::new(any.clone()));
        Self { receiving, sending, any, closing: Mutex::default(), counts: Default::default() }
    }

    pub(super) fn count(&self, place: usize, messages: usize, bytes: usize) {
        self.counts[place].fetch_add(messages as u64, Relaxed);
        self.counts[place + 1].fetch_add(bytes as u64, Relaxed);
    }

    /// Returns memory of this length.
    pub(super) fn buffer(&self, length: usize) -> PyResult<Buf> {
        let longest = self.any.longest();
        if length > longest {
            return Err(Failure::too_long(length, longest).into());
        }
        Ok(self.any.buffer(length).map_err(Failure::from)?)
    }
}
