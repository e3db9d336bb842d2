//! Explicit congestion notification for one connection.

use crate::device::Device;
use crate::marked::Marked;
use bertha_core::Marks;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

/// The switch of a connection's marks, and their counts.
pub(crate) struct Ecn {
    device: Weak<Device>,
    /// The number of the connection's queue, and its own in there.
    queue: usize,
    connection: usize,
    marked: OnceLock<Arc<Marked>>,
    /// Whether marks are counted: then each frame is parsed.
    is_counting: AtomicBool,
}

impl Ecn {
    /// Off.
    pub(crate) fn new(device: &Arc<Device>, queue: usize, connection: usize) -> Self {
        let (marked, is_counting) = Default::default();
        Self { device: Arc::downgrade(device), queue, connection, marked, is_counting }
    }

    /// As [`Base::set_ecn`](bertha_core::Base::set_ecn).
    pub(crate) fn set(&self, on: bool) -> bool {
        // The connection has the device as long as it lives.
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

    /// Whether marks are counted.
    #[inline]
    pub(crate) fn is_counting(&self) -> bool {
        // Relaxed: a frame of that moment may be taken either way.
        self.is_counting.load(Ordering::Relaxed)
    }

    /// The marks so far.
    pub(crate) fn marks(&self) -> Marks {
        self.marked.get().map_or_else(Marks::default, |marked| marked.marks())
    }
}

impl fmt::Debug for Ecn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ecn").field("marked", &self.marked).finish_non_exhaustive()
    }
}
