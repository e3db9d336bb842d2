//! Memory of this process: shared with its children, or with the other end of a connection.

use crate::real;
use crate::visit::Own;
use libc::{c_int, c_void};
use std::ptr::{NonNull, null_mut};
use std::slice;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// Maps memory that forked children share, all zeros.
pub(crate) fn for_children(bytes: usize) -> Option<NonNull<c_void>> {
    let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: the kernel chooses a place where nothing is mapped.
    let start = unsafe { libc::mmap(null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    if start == libc::MAP_FAILED { None } else { NonNull::new(start) }
}

/// Makes an empty file in memory, which a process knows by this name.
pub(crate) fn file() -> Option<Own> {
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: the name ends by a zero.
    let file = unsafe { libc::memfd_create(c"bertha-sockets".as_ptr(), flags) };
    (file >= 0).then_some(Own(file))
}

/// Maps a file: anywhere, or where a process of the same family has had it.
pub(crate) fn map(file: c_int, bytes: usize, at: *mut c_void) -> Option<NonNull<c_void>> {
    let place = if at.is_null() { 0 } else { libc::MAP_FIXED_NOREPLACE };
    let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | place);
    // SAFETY: the kernel maps where nothing is mapped.
    let start = unsafe { libc::mmap(at, bytes, access, flags, file, 0) };
    if start == libc::MAP_FAILED { None } else { NonNull::new(start) }
}

/// The memory of a connection, or none. It is used, mapped and unmapped under the locks of its place.
#[derive(Debug)]
pub(crate) struct Memory {
    start: AtomicPtr<AtomicU64>,
    bytes: AtomicUsize,
}

impl Memory {
    /// Maps the file, which the daemon has made with seals that keep its size.
    pub(crate) fn map(&self, file: c_int, bytes: usize) -> bool {
        if size(file) != Some(bytes) {
            return false;
        }
        let Some(start) = map(file, bytes, null_mut()) else { return false };
        self.bytes.store(bytes, Ordering::Relaxed);
        self.start.store(start.as_ptr().cast(), Ordering::Release);
        true
    }

    /// Maps a copy in a new program, where the processes have the memory that had the socket before.
    pub(crate) fn map_again(&self, file: c_int) -> bool {
        let start = self.start.load(Ordering::Acquire);
        let mapped = map(file, self.bytes.load(Ordering::Relaxed), start.cast());
        // An old kernel takes the place for a wish.
        !start.is_null() && mapped.is_some_and(|mapped| mapped.as_ptr() == start.cast())
    }

    /// Unmaps the memory in this process. `is_last` says that no child has it, so that the place has none.
    pub(crate) fn unmap(&self, is_last: bool) {
        let (start, bytes) = (self.start.load(Ordering::Acquire), self.bytes.load(Ordering::Relaxed));
        if start.is_null() {
            return;
        }
        if is_last {
            self.start.store(null_mut(), Ordering::Release);
        }
        // SAFETY: this is what was mapped. The caller has the locks, and no thread looks at the memory without.
        unsafe { libc::munmap(start.cast(), bytes) };
    }

    /// Returns the words of the memory.
    #[inline]
    pub(crate) fn words(&self) -> &[AtomicU64] {
        let start = self.start.load(Ordering::Acquire);
        if start.is_null() {
            return &[];
        }
        // SAFETY: so many bytes are mapped, and stay mapped while the caller has a lock of the place. Seals keep pages behind them.
        // Any bits are a value, and other processes may write at any time, as the words are atomic.
        unsafe { slice::from_raw_parts(start, self.bytes.load(Ordering::Relaxed) / size_of::<AtomicU64>()) }
    }
}

fn size(file: c_int) -> Option<usize> {
    const NEEDED: c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: the command takes no argument.
    let seals = unsafe { real::fcntl(file, libc::F_GET_SEALS, 0) };
    if seals < 0 || seals & NEEDED != NEEDED {
        return None;
    }
    // SAFETY: the call changes the position of this file alone, which nobody reads.
    let end = unsafe { libc::lseek(file, 0, libc::SEEK_END) };
    usize::try_from(end).ok()
}
