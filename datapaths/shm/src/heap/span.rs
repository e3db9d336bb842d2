//! The range of addresses in which the regions of a heap lie behind one another.
//!
//! ```text
//!  base      base + 64 KiB                              base + 4 GiB
//!  | header | region | region        | reserved ...    |
//! ```
#![allow(unsafe_code)]

use super::layout::{Base, HEADER, LARGEST, PAGE, REGIONS, SPAN};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap, mmap_anonymous, mprotect, munmap};
use std::os::fd::BorrowedFd;
use std::sync::{Arc, OnceLock};
use std::{io, ptr};

/// Addresses of this process that are reserved for a heap, and the regions in them.
#[derive(Debug)]
pub(super) struct Span {
    addresses: Arc<Addresses>,
    /// Number of bytes in the regions.
    mapped: usize,
    /// Number of regions, with those that were given up.
    regions: usize,
}

/// The addresses of a span. Dropping them unmaps the regions.
#[derive(Debug)]
pub(super) struct Addresses {
    base: Base,
    /// Number of bytes, from the base on, that belong to the span for sure, once not every address does.
    owned: OnceLock<usize>,
}

impl Span {
    /// Reserves a range without memory.
    pub(super) fn reserve() -> io::Result<Self> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: the kernel chooses addresses where nothing is mapped.
        let start = unsafe { mmap_anonymous(ptr::null_mut(), 2 * SPAN, ProtFlags::empty(), flags) }?;
        let start = start.expose_provenance();
        let base = start.next_multiple_of(SPAN);
        // SAFETY: the addresses before the base were reserved above, and nothing lies there.
        unsafe { unmap(start, base - start) }?;
        // SAFETY: the addresses behind the span were reserved above, and nothing lies there.
        unsafe { unmap(base + SPAN, start + SPAN - base) }?;
        let base = Base::new(base as u64).ok_or(io::ErrorKind::OutOfMemory)?;
        let addresses = Arc::new(Addresses { base, owned: OnceLock::new() });
        Ok(Self { addresses, mapped: 0, regions: 0 })
    }

    #[inline]
    pub(super) fn base(&self) -> Base {
        self.addresses.base
    }

    /// Returns what keeps the regions mapped where they are, also when the span is dropped, unless they are [given up](Self::truncate).
    pub(super) fn addresses(&self) -> Arc<Addresses> {
        Arc::clone(&self.addresses)
    }

    /// Returns the number of bytes that are mapped from [`start`](Self::start) on.
    #[inline]
    pub(super) fn mapped(&self) -> usize {
        self.mapped
    }

    /// Returns the beginning of the first region.
    #[inline]
    pub(super) fn start(&self) -> *mut u8 {
        pointer(self.base().address(0).get())
    }

    /// Makes the header usable: private memory of this process, all zeros. Returns its beginning, which is the base.
    pub(super) fn header(&self) -> io::Result<*mut u8> {
        let header: *mut u8 = pointer(self.base().get());
        // SAFETY: the header belongs to this span, and regions lie behind it.
        unsafe { mprotect(header.cast(), HEADER, MprotectFlags::READ | MprotectFlags::WRITE) }?;
        Ok(header)
    }

    /// Maps a region behind the others.
    pub(super) fn map(&mut self, file: BorrowedFd<'_>, bytes: usize, access: ProtFlags) -> io::Result<()> {
        if bytes == 0
            || bytes > LARGEST - self.mapped
            || !bytes.is_multiple_of(PAGE)
            || self.addresses.owned.get().is_some()
        {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        if self.regions == REGIONS {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        let (place, flags) = (self.start().wrapping_add(self.mapped), MapFlags::SHARED | MapFlags::FIXED);
        // Where the system has no mapping left for a region, this fails, and the range stays as it was.
        // SAFETY: the range lies within the span, whose addresses all belong to it, and behind the regions that are in use.
        unsafe { mprotect(place.cast(), bytes, MprotectFlags::READ) }?;
        self.regions += 1;
        // SAFETY: the range lies within the span, whose addresses all belong to it, and behind the regions that are in use.
        let made = unsafe { mmap(place.cast(), bytes, access, flags, file, 0) };
        // Some kernels leave a hole where they fail, which may become memory of another part of the process.
        if made.is_err() {
            self.addresses.owned.get_or_init(|| HEADER + self.mapped);
        }
        made?;
        self.mapped += bytes;
        Ok(())
    }

    /// Gives up all but the first bytes: later regions are mapped in the place of those behind.
    pub(super) fn truncate(&mut self, mapped: usize) {
        self.mapped = mapped.min(self.mapped);
    }
}

impl Drop for Addresses {
    fn drop(&mut self) {
        // What lies behind the regions of a span with a hole may belong to another part of the process. It costs addresses, and no memory.
        let owned = self.owned.get().copied().unwrap_or(SPAN);
        // SAFETY: these addresses belong to the span, no reference into it outlives the span, and no pointer is followed without a value that
        // holds the addresses.
        if let Err(error) = unsafe { unmap(self.base.get() as usize, owned) } {
            tracing::debug!(%error, "a heap is not unmapped");
        }
    }
}

/// Returns a pointer to a value in a span of this process.
#[inline]
pub(super) fn pointer<T>(address: u64) -> *mut T {
    // The address of each span was exposed when it was reserved.
    ptr::with_exposed_provenance_mut(address as usize)
}

/// Unmaps addresses, if there are any.
///
/// # Safety
/// The addresses belong to the caller, and nothing that lies there is used any more.
unsafe fn unmap(start: usize, bytes: usize) -> io::Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { munmap(ptr::with_exposed_provenance_mut(start), bytes) }?)
}

#[cfg(test)]
mod tests {
    use super::super::Region;
    use super::*;

    const ACCESS: ProtFlags = ProtFlags::READ.union(ProtFlags::WRITE);

    #[test]
    fn regions_lie_behind_one_another() {
        let mut span = Span::reserve().unwrap();
        assert!(span.base().get().is_multiple_of(SPAN as u64));
        for (number, pages) in [1, 3].into_iter().enumerate() {
            let (region, before) = (Region::writable(pages * PAGE).unwrap(), span.mapped());
            span.map(region.file(), region.bytes(), ACCESS).unwrap();
            let last = span.start().wrapping_add(span.mapped() - 1);
            assert_eq!(span.mapped(), before + pages * PAGE);
            // SAFETY: the last byte of what was mapped, which this thread alone uses.
            unsafe { last.write(number as u8 + 1) };
            let mut read = [0];
            rustix::io::pread(region.file(), &mut read, (pages * PAGE - 1) as u64).unwrap();
            assert_eq!(read, [number as u8 + 1]);
        }
    }

    #[test]
    fn what_is_no_region_is_not_mapped() {
        let mut span = Span::reserve().unwrap();
        let region = Region::writable(PAGE).unwrap();
        for bytes in [0, 4096, PAGE + 1, LARGEST + PAGE, usize::MAX] {
            assert!(span.map(region.file(), bytes, ACCESS).is_err(), "{bytes}");
        }
        assert_eq!(span.mapped(), 0);
        span.map(region.file(), PAGE, ACCESS).unwrap();
        assert!(span.map(region.file(), LARGEST, ACCESS).is_err());
    }

    #[test]
    fn the_number_of_regions_is_bounded() {
        let mut span = Span::reserve().unwrap();
        let region = Region::writable(PAGE).unwrap();
        for _ in 0..REGIONS {
            span.map(region.file(), PAGE, ACCESS).unwrap();
        }
        let refused = span.map(region.file(), PAGE, ACCESS).unwrap_err();
        assert_eq!((refused.kind(), span.mapped()), (io::ErrorKind::QuotaExceeded, REGIONS * PAGE));
    }

    #[test]
    fn a_span_in_which_mapping_failed_grows_no_more_and_gives_its_regions_back() {
        let mut span = Span::reserve().unwrap();
        let (region, socket) =
            (Region::writable(PAGE).unwrap(), std::os::unix::net::UnixStream::pair().unwrap().0);
        span.map(region.file(), PAGE, ACCESS).unwrap();
        assert!(span.map(std::os::fd::AsFd::as_fd(&socket), PAGE, ACCESS).is_err());
        assert!(span.map(region.file(), PAGE, ACCESS).is_err());
        let mapping = format!("{:x}-", span.start().addr());
        let is_mapped = || std::fs::read_to_string("/proc/self/maps").unwrap().contains(&mapping);
        assert!(is_mapped());
        drop(span);
        assert!(!is_mapped());
    }
}
