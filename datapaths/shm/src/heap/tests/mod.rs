//! Heaps with an application and a daemon in one process, each with a mapping of its own.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod lending;
mod life;
mod read_only;
mod reading;

use super::*;
use parking_lot::Mutex;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

const MIB: usize = 1 << 20;

/// A daemon that grants up to `left` bytes.
pub(super) struct Daemon {
    left: Mutex<usize>,
    regions: Mutex<std::vec::Vec<Region>>,
}

impl Daemon {
    pub(super) fn granting(bytes: usize) -> Arc<Self> {
        Arc::new(Self { left: Mutex::new(bytes), regions: Mutex::default() })
    }

    /// Returns the daemon's end of a heap.
    pub(super) fn foreign(&self, heap: &Heap) -> Foreign {
        let mut foreign = Foreign::new(heap.base(), usize::MAX).unwrap();
        self.regions.lock().iter().for_each(|region| foreign.add(region).unwrap());
        foreign
    }
}

// SAFETY: each region is a new file, which the daemon only reads.
unsafe impl Source for Arc<Daemon> {
    fn region(&self, bytes: usize) -> io::Result<OwnedFd> {
        let mut left = self.left.lock();
        *left = left.checked_sub(bytes).ok_or(io::ErrorKind::OutOfMemory)?;
        let region = Region::writable(bytes)?;
        let file = region.file().try_clone_to_owned();
        self.regions.lock().push(region);
        file
    }
}

/// Returns a heap to which a daemon grants as many bytes as the heap may have.
pub(super) fn heap(quota: usize) -> (Heap, Arc<Daemon>) {
    let daemon = Daemon::granting(quota);
    (Heap::new(quota, daemon.clone()).unwrap(), daemon)
}

/// Returns true if all memory that was granted is free, as a single block.
pub(super) fn is_free(heap: &Heap) -> bool {
    let granted = heap.granted();
    let Ok(whole) = heap.allocate(granted) else { return false };
    // SAFETY: the block was just allocated.
    unsafe { heap.free(whole.get(), granted) };
    heap.granted() == granted
}
