//! The shared memory as words of this process.
#![allow(unsafe_code)]

use crate::memory::SealedMemory;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::ptr::{NonNull, null_mut};
use std::slice;
use std::sync::atomic::AtomicU64;

/// A mapping of a whole [`SealedMemory`]. Dropping it frees the memory, once the peer has dropped its own
/// mapping.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<AtomicU64>,
    bytes: usize,
}

// SAFETY: the mapping belongs to the process and not to a thread, and only the single owner of this value
// unmaps it.
unsafe impl Send for Mapping {}

// SAFETY: a shared reference gives access to atomics only.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the memory for reading and writing.
    pub(crate) fn new(memory: &SealedMemory) -> io::Result<Self> {
        let (bytes, access) = (memory.bytes(), ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: the kernel chooses an address where nothing is mapped, so no memory that is in use changes.
        let start = unsafe { mmap(null_mut(), bytes, access, MapFlags::SHARED, memory.file(), 0) }?;
        // The kernel never chooses address zero.
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, bytes })
    }

    /// Returns all words of the memory.
    #[inline]
    pub(crate) fn words(&self) -> &[AtomicU64] {
        // SAFETY: `bytes` bytes are mapped from `start`, which begins a page and so is aligned, until the
        // drop, which comes after the lifetime. Each of them is backed by a page of the file, since the seals
        // keep the file from shrinking. Any bits are a value of the type, and other processes may write to it
        // at any time, as it is atomic.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.bytes / size_of::<AtomicU64>()) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range is what `mmap` returned for this value, and no reference into it outlives the
        // value.
        if let Err(error) = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) } {
            tracing::debug!(%error, "shared memory not unmapped");
        }
    }
}
