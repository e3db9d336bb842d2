//! Where buffers come from: a pool of mbufs that are [`Buf`]s.

use crate::eal::enter_thread;
use crate::failure::{check, failure};
use bertha_core::buf::{RawBuf, Storage, Vtable};
use bertha_core::{Buf, Error, ErrorKind};
use bertha_dpdk_sys as sys;
use std::ffi::{CString, c_void};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// What an mbuf's private area holds. Written once, when the pool is made, but for the count.
///
/// As long as a cache line, so that frames begin with one: short ones then lie in two lines instead of three.
#[repr(C, align(64))]
pub(crate) struct Area {
    /// Comes first, so that its address is the area's.
    pub(crate) storage: Storage,
    /// How many windows into the mbuf exist; not looked at while it belongs to the pool or to a port. DPDK's own count, which
    /// stays one meanwhile, has too few bits for a message of many parts.
    pub(crate) windows: AtomicU32,
}

/// How windows into mbufs are counted; also how they are told from other buffers.
pub(crate) static VTABLE: Vtable = Vtable { share, release };

/// The mbuf that a private area belongs to.
#[inline]
pub(crate) fn mbuf_of(area: NonNull<Area>) -> *mut sys::Mbuf {
    // SAFETY: the area lies so far behind its mbuf, in the same object of the pool.
    unsafe { area.as_ptr().byte_sub(mbuf_area()).cast() }
}

/// The private area of an mbuf of one of our pools.
///
/// # Safety
/// `mbuf` is from a [`Pool`].
#[inline]
pub(crate) unsafe fn area_of(mbuf: NonNull<sys::Mbuf>) -> NonNull<Area> {
    // SAFETY: each mbuf of a `Pool` has an `Area` behind it, in the same object.
    unsafe { mbuf.byte_add(mbuf_area()).cast() }
}

/// The size of an mbuf without its private area: two cache lines in all releases. [`Pool::new`] checks it.
#[inline]
const fn mbuf_area() -> usize {
    128
}

/// # Safety
/// `storage` is that of an mbuf with at least one window.
unsafe fn share(storage: NonNull<Storage>) {
    // SAFETY: the area begins with its storage, and lives for ever.
    let area = unsafe { storage.cast::<Area>().as_ref() };
    // Relaxed as in `Arc::clone`: the new window is made from an existing one.
    area.windows.fetch_add(1, Ordering::Relaxed);
}

/// # Safety
/// `storage` is that of an mbuf with at least one window, and the caller's window is not used afterwards.
unsafe fn release(storage: NonNull<Storage>) {
    let area = storage.cast::<Area>();
    // SAFETY: the area begins with its storage, and lives for ever.
    let windows = &unsafe { area.as_ref() }.windows;
    // The common case, one window, needs no read-modify-write: nobody else can add a window. Acquire pairs with the Release of
    // a window that another thread dropped before, so its writes happen before the mbuf's reuse.
    if windows.load(Ordering::Acquire) == 1 || windows.fetch_sub(1, Ordering::AcqRel) == 1 {
        enter_thread();
        // SAFETY: the last window is gone, so the mbuf is ours; any thread may free one.
        unsafe { sys::bertha_mbuf_free(mbuf_of(area)) };
    }
}

/// A pool of buffers in DPDK's memory, which ports receive into and send from.
///
/// It stays until the process ends, since nobody knows when the last buffer will have come back. Any thread may take from it
/// and give back; each of the first hundred or so has a cache of its own.
#[derive(Debug, Clone, Copy)]
pub struct Pool {
    raw: NonNull<sys::Mempool>,
    /// How many bytes of memory a buffer has.
    room: u16,
}

// SAFETY: a mempool may be used from any thread, and lives for ever.
unsafe impl Send for Pool {}
// SAFETY: as above; its functions synchronise among themselves.
unsafe impl Sync for Pool {}

impl Pool {
    /// A pool of `count` buffers of `room` bytes each, headers included.
    ///
    /// # Errors
    /// [`Exhausted`](ErrorKind::Exhausted) if DPDK has too little memory.
    pub(crate) fn new(count: u32, room: u16) -> Result<Self, Error> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        // SAFETY: it only tells a size.
        let found = unsafe { sys::bertha_mbuf_area() };
        if found != mbuf_area() {
            let what = format!("mbufs of this DPDK have {found} bytes where 128 are expected");
            return Err(failure(ErrorKind::Unavailable, what));
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = CString::new(format!("bertha-{number}")).unwrap_or_default();
        let mut raw = std::ptr::null_mut();
        // SAFETY: all pointers are valid for the call, `prepare` writes an `Area` into an area that is as large, and the
        // environment is initialised: ports are opened afterwards alone.
        let code = unsafe {
            sys::bertha_pool_create(
                &mut raw,
                name.as_ptr(),
                count,
                size_of::<Area>() as u16,
                room,
                prepare,
                std::ptr::null_mut(),
            )
        };
        check(code, &format!("making a pool of {count} buffers of {room} bytes"))?;
        let raw = NonNull::new(raw).ok_or_else(|| failure(ErrorKind::Io, "DPDK made no pool"))?;
        Ok(Self { raw, room })
    }

    pub(crate) fn raw(&self) -> *mut sys::Mempool {
        self.raw.as_ptr()
    }

    /// A buffer of `len` arbitrary bytes with `headroom` bytes in front.
    ///
    /// # Errors
    /// [`TooLarge`](ErrorKind::TooLarge) if both together exceed a buffer's memory, [`Exhausted`](ErrorKind::Exhausted) if the
    /// pool is empty.
    #[inline]
    pub fn buffer(&self, len: usize, headroom: usize) -> Result<Buf, Error> {
        let room = usize::from(self.room);
        if len.checked_add(headroom).is_none_or(|whole| whole > room) {
            return Err(self.too_large(len, headroom));
        }
        enter_thread();
        // SAFETY: the pool lives for ever.
        let mbuf = unsafe { sys::bertha_mbuf_alloc(self.raw.as_ptr()) };
        let Some(mbuf) = NonNull::new(mbuf) else { return Err(self.empty()) };
        // SAFETY: it is from this pool, and ours alone.
        Ok(unsafe { window(mbuf, headroom, len) })
    }

    #[cold]
    fn too_large(&self, len: usize, headroom: usize) -> Error {
        let what = format!("a buffer has {} bytes, not {len} and {headroom} in front", self.room);
        failure(ErrorKind::TooLarge, what)
    }

    #[cold]
    fn empty(&self) -> Error {
        let what = format!(
            "all {} buffers of the pool are in use; drop received messages sooner, or raise `buffers`",
            self.size()
        );
        failure(ErrorKind::Exhausted, what)
    }

    /// How many buffers there are.
    pub fn size(&self) -> u32 {
        // SAFETY: the pool lives for ever.
        unsafe { sys::bertha_pool_size(self.raw.as_ptr()) }
    }

    /// How many buffers are in use: by the application, waiting in queues, or in a port's rings. Exact while nothing is sent
    /// or received.
    pub fn in_use(&self) -> u32 {
        // SAFETY: the pool lives for ever.
        unsafe { sys::bertha_pool_in_use(self.raw.as_ptr()) }
    }
}

/// Fills the private area of a new mbuf.
///
/// # Safety
/// `area` has room for an [`Area`], at its alignment, and `memory` has `len` bytes.
unsafe extern "C" fn prepare(area: *mut c_void, memory: *mut u8, len: u16, _: *mut c_void) {
    let Some(memory) = NonNull::new(memory) else { return };
    let storage = Storage { memory, len: len.into(), vtable: &VTABLE };
    // SAFETY: the caller's promise; mbufs begin with a cache line and have two, so private areas do as well, and nobody else uses
    // the pool yet.
    unsafe { area.cast::<Area>().write(Area { storage, windows: AtomicU32::new(0) }) };
}

/// The only window into an mbuf: `len` bytes from `start` on, with all around them.
///
/// # Safety
/// `mbuf` is from a [`Pool`] and the caller's alone, and has `start + len` bytes of memory.
#[inline]
pub(crate) unsafe fn window(mbuf: NonNull<sys::Mbuf>, start: usize, len: usize) -> Buf {
    // SAFETY: it is from a `Pool`.
    let area = unsafe { area_of(mbuf) };
    // SAFETY: areas were written when their pool was made, and live for ever.
    let own = unsafe { area.as_ref() };
    own.windows.store(1, Ordering::Relaxed);
    // All behind it, which is not less than nothing, by the caller's promise.
    let tailroom = (own.storage.len as usize).wrapping_sub(start + len);
    let raw = RawBuf { storage: area.cast(), start, len, headroom: start, tailroom };
    // SAFETY: the storage is written to no more, and its memory is mapped and zero from the start, so initialised; the window lies
    // within, by the caller's promise, is the only one, and counted; `share` and `release` work from any thread.
    unsafe { Buf::from_raw(raw) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_area_fits_the_alignment_of_private_areas() {
        assert_eq!((align_of::<Area>(), size_of::<Area>()), (64, 64));
        assert_eq!(std::mem::offset_of!(Area, storage), 0);
    }
}
