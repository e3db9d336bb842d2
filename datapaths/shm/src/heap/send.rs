//! The heap in which an application writes the messages that it sends.
#![allow(unsafe_code)]

use super::arena::Arena;
use super::layout::Base;
use super::slab::Growth;
use super::span::{Span, pointer};
use super::{Full, Region};
use parking_lot::Mutex;
use rustix::mm::ProtFlags;
use std::mem::ManuallyDrop;
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::{fmt, io, mem};

/// The daemon, as a heap sees it.
///
/// # Safety
/// Values lie in the regions. So each region is a file of its own, which no other call returns; and while the heap lives, no process but
/// this one writes to the file or maps it for writing, and this one does so through the heap alone.
pub unsafe trait Source: Send + Sync {
    /// Asks the daemon for a region of this size, and waits for it. The heap is locked meanwhile: the call must not use it.
    ///
    /// # Errors
    /// Any error means that there is no room for so many bytes. A heap that grew in advance asks once more, for what it needs.
    fn region(&self, bytes: usize) -> io::Result<OwnedFd>;
}

/// A heap whose memory the daemon reads: values in it are sent without a copy of this process.
///
/// Clones are handles of the same heap. Each value in it holds it too, so it is unmapped with the last handle and the last value.
#[derive(Clone)]
pub struct Heap {
    shared: Arc<Shared>,
}

struct Shared {
    base: Base,
    /// A lock, as any thread frees the values of any other: an allocation takes it for some ten nanoseconds, and blocks in caches of
    /// threads would be lost to the quota.
    arena: Mutex<Arena>,
    source: Box<dyn Source>,
}

impl Heap {
    /// Reserves addresses for a heap, to which the source grants at most `quota` bytes.
    ///
    /// # Errors
    /// The errors of the system: there are no 8 GiB of free addresses.
    pub fn new(quota: usize, source: impl Source + 'static) -> io::Result<Self> {
        let arena = Arena::new(quota)?;
        let (base, header) = (arena.span().base(), arena.span().header()?);
        let shared = Arc::new(Shared { base, arena: Mutex::new(arena), source: Box::new(source) });
        let raw = Arc::into_raw(shared);
        // SAFETY: the header is private memory of this process, larger and more aligned than a pointer, and nothing else lies in it.
        unsafe { header.cast::<*const Shared>().write(raw) };
        // SAFETY: the pointer is that of the `Arc` above, whose count it takes back.
        Ok(Self { shared: unsafe { Arc::from_raw(raw) } })
    }

    /// Returns the address at which the heap begins, a multiple of 4 GiB. The daemon has to know it.
    pub fn base(&self) -> u64 {
        self.shared.base.get()
    }

    /// Returns the number of bytes that the daemon has granted.
    pub fn granted(&self) -> usize {
        self.shared.arena.lock().granted()
    }

    /// Takes a block, and returns its address, a multiple of 16.
    pub(super) fn allocate(&self, bytes: usize) -> Result<NonZero<u64>, Full> {
        let taken = self.take(bytes, Growth::Doubled).or_else(|_| self.take(bytes, Growth::Least));
        let offset = taken.map_err(|error| Full::because(&error))?;
        Ok(self.shared.base.address(offset))
    }

    /// Takes a block, and returns its offset. The heap is locked meanwhile, and no more when an error of the source is seen or dropped.
    #[inline]
    fn take(&self, bytes: usize, growth: Growth) -> io::Result<usize> {
        let add = |span: &mut Span, wanted| {
            let region = Region::granted(self.shared.source.region(wanted)?)?;
            if region.bytes() != wanted {
                return Err(io::Error::other("the daemon granted a region of another size"));
            }
            span.map(region.file(), wanted, ProtFlags::READ | ProtFlags::WRITE)
        };
        self.shared.arena.lock().allocate(bytes, growth, add)
    }

    /// Makes a block free.
    ///
    /// # Safety
    /// The block was allocated from this heap with this number of bytes, and is not used any more.
    pub(super) unsafe fn free(&self, address: u64, bytes: usize) {
        let offset = address - self.shared.base.address(0).get();
        self.shared.arena.lock().free(offset as usize, bytes);
    }

    /// Counts a value as a holder, until it [releases](Release) it.
    pub(super) fn hold(&self) {
        mem::forget(self.clone());
    }

    /// Returns the heap in which an address lies, by the count of a holder that stays one.
    ///
    /// # Safety
    /// The address is the base of a heap of this process, or lies in it; and a holder of the heap does not release it while the result is
    /// in use.
    pub(super) unsafe fn at(address: u64) -> ManuallyDrop<Self> {
        let header = Base::of(address).map_or(0, Base::get);
        // SAFETY: the heap is held, so its header is mapped; `new` has written the pointer before there was any holder.
        let shared = unsafe { pointer::<*const Shared>(header).read() };
        // SAFETY: the pointer is that of a living `Arc`, and its count is that of the holder, since the result is not dropped.
        ManuallyDrop::new(Self { shared: unsafe { Arc::from_raw(shared) } })
    }
}

/// The end of a hold. Its drop makes a holder's block free, if it has bytes, and then lets go of the heap.
pub(super) struct Release {
    address: u64,
    bytes: usize,
}

impl Release {
    /// Ends a hold when the result is dropped, which happens also where the drop of a value in the block panics.
    ///
    /// # Safety
    /// The address is the base of the heap that the caller holds, or a block in it that was allocated with this number of bytes. The
    /// caller uses neither any more once the result is dropped.
    pub(super) unsafe fn of(address: u64, bytes: usize) -> Self {
        Self { address, bytes }
    }
}

impl Drop for Release {
    fn drop(&mut self) {
        // SAFETY: the promise of `of`: the caller held the heap, and does so until the end of this function.
        let heap = unsafe { Heap::at(self.address) };
        if self.bytes > 0 {
            // SAFETY: the promise of `of`.
            unsafe { heap.free(self.address, self.bytes) };
        }
        // The count was forgotten in `hold`.
        drop(ManuallyDrop::into_inner(heap));
    }
}

impl fmt::Debug for Heap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Heap").field("base", &self.base()).field("granted", &self.granted()).finish()
    }
}
