//! Explicit congestion notification of a connection.

use crate::device::Device;
use crate::marked::Marked;
use bertha_core::EcnMarks;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

/// The switch of a connection's marks, and their counts.
pub(crate) struct Ecn {
    device: Weak<Device>,
    /// Number of the connection's queue, and the connection's number in this queue.
    queue: usize,
    connection: usize,
    marked: OnceLock<Arc<Marked>>,
    /// True if marks are counted: then each frame is parsed.
    is_counting: AtomicBool,
}

impl Ecn {
    /// Creates the state with marks off.
    pub(crate) fn new(device: &Arc<Device>, queue: usize, connection: usize) -> Self {
        let (marked, is_counting) = Default::default();
        Self { device: Arc::downgrade(device), queue, connection, marked, is_counting }
    }

    /// Implements [`Base::set_ecn`](bertha_core::Base::set_ecn).
    pub(crate) fn set(&self, on: bool) -> bool {
        // The connection keeps the device alive.
        let Some(device) = self.device.upgrade() else { return false };
        if on {
            self.is_counting.store(true, Ordering::Relaxed);
        }
        if self.is_counting() {
            let marked = self.marked.get_or_init(Arc::default);
            device.queues[self.queue].lock().connections.set_ecn(self.connection, on, marked);
        }
        true
    }

    /// Returns true if marks are counted.
    #[inline]
    pub(crate) fn is_counting(&self) -> bool {
        // Relaxed access suffices: a frame that arrives at this moment may be counted or not.
        self.is_counting.load(Ordering::Relaxed)
    }

    /// Returns the marks counted so far.
    pub(crate) fn marks(&self) -> EcnMarks {
        self.marked.get().map_or_else(EcnMarks::default, |marked| marked.marks())
    }
}

bertha_core::debug_fields!(Ecn { marked });
