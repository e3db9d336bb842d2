//! Pools of mbufs, as buffers for messages.

use crate::eal::{Eal, enter_thread};
use crate::failure::{check, failure};
use crate::mbuf::{self, Area, MBUF_LEN};
use bertha_core::{Buf, Error, ErrorKind};
use bertha_dpdk_sys as sys;
use std::ffi::CString;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The place of a pool's buffers in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placement {
    /// The buffers lie without gaps. `net_af_xdp` counts on it: it lends the kernel as much memory as the buffers take
    /// without gaps, and the kernel refuses frames to the buffers beyond.
    OnePiece,
    /// No buffer lies on two pages, since a card may read and write by physical addresses.
    WithinPages,
}

/// A pool of buffers in DPDK's memory, which ports receive into and send from.
///
/// A pool lives until the process ends, since buffers may be in use as long. Any thread may allocate and free
/// buffers; each of the first hundred or so threads has a cache of its own.
#[derive(Debug, Clone, Copy)]
pub struct Pool {
    raw: NonNull<sys::Mempool>,
    /// Size of a buffer in bytes.
    capacity: u16,
}

// SAFETY: a mempool may be used from any thread, and lives forever.
unsafe impl Send for Pool {}
// SAFETY: as above; the functions of a mempool synchronise among themselves.
unsafe impl Sync for Pool {}

impl Pool {
    /// Creates a pool of `count` buffers of `capacity` bytes each, headers included.
    ///
    /// # Errors
    /// [`Exhausted`](ErrorKind::Exhausted) if DPDK has too little memory.
    pub(crate) fn new(_: Eal, count: u32, capacity: u16, placement: Placement) -> Result<Self, Error> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        // SAFETY: the function returns a constant.
        let found = unsafe { sys::bertha_dpdk_mbuf_area() };
        if found != MBUF_LEN {
            let what = format!("mbufs of this DPDK have {found} bytes where {MBUF_LEN} are expected");
            return Err(failure(ErrorKind::Unavailable, what));
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = CString::new(format!("bertha-{number}")).unwrap_or_default();
        let mut raw = std::ptr::null_mut();
        // SAFETY: the environment is initialised, as the `Eal` proves, and all pointers are valid during the
        // call. `prepare` is called for each mbuf with a private area of the length of an `Area`; mbufs begin
        // at a cache line and have `MBUF_LEN` bytes, so the area begins at a cache line too. Their memory is
        // mapped forever, and zero.
        let code = unsafe {
            sys::bertha_dpdk_pool_create(
                &mut raw,
                name.as_ptr(),
                count,
                size_of::<Area>() as u16,
                capacity,
                placement == Placement::OnePiece,
                mbuf::prepare,
                std::ptr::null_mut(),
            )
        };
        check(code, &format!("making a pool of {count} buffers of {capacity} bytes"))?;
        let raw = NonNull::new(raw).ok_or_else(|| failure(ErrorKind::Io, "DPDK made no pool"))?;
        Ok(Self { raw, capacity })
    }

    pub(crate) fn raw(&self) -> *mut sys::Mempool {
        self.raw.as_ptr()
    }

    /// Allocates a buffer of `len` arbitrary bytes with `headroom` bytes in front.
    ///
    /// # Errors
    /// [`TooLarge`](ErrorKind::TooLarge) if both together exceed a buffer's memory, [`Exhausted`](ErrorKind::Exhausted) if the
    /// pool is empty.
    #[inline]
    pub fn buffer(&self, len: usize, headroom: usize) -> Result<Buf, Error> {
        let capacity = usize::from(self.capacity);
        if len.checked_add(headroom).is_none_or(|whole| whole > capacity) {
            return Err(self.too_large(len, headroom));
        }
        enter_thread();
        // SAFETY: the pool lives forever.
        let mbuf = unsafe { sys::bertha_dpdk_mbuf_alloc(self.raw.as_ptr()) };
        let Some(mbuf) = NonNull::new(mbuf) else { return Err(self.empty()) };
        // SAFETY: the mbuf is from this pool and was just allocated, so no other owner exists;
        // `headroom + len` is at most its memory.
        Ok(unsafe { mbuf::window(mbuf, headroom, len) })
    }

    #[cold]
    fn too_large(&self, len: usize, headroom: usize) -> Error {
        let what = format!("a buffer has {} bytes, not {len} and {headroom} in front", self.capacity);
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

    /// Returns the number of buffers.
    pub fn size(&self) -> u32 {
        // SAFETY: the pool lives forever.
        unsafe { sys::bertha_dpdk_pool_size(self.raw.as_ptr()) }
    }

    /// Returns the number of buffers in use: by the application, in queues, or in a port's rings. The number
    /// is exact while no thread sends or receives.
    pub fn in_use(&self) -> u32 {
        // SAFETY: the pool lives forever.
        unsafe { sys::bertha_dpdk_pool_in_use(self.raw.as_ptr()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, eal};

    #[test]
    fn buffers_lie_without_gaps_where_no_card_minds() {
        if !crate::AVAILABLE {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "DPDK must be installed in CI");
            return;
        }
        const COUNT: usize = 1023;
        let eal = eal::init(&Config::default().eal_arguments().unwrap()).unwrap();
        let pool = Pool::new(eal, COUNT as u32, 2176, Placement::OnePiece).unwrap();
        // SAFETY: the pool lives forever.
        let extent = unsafe { sys::bertha_dpdk_pool_extent(pool.raw()) };
        // DPDK puts a header in front of each buffer, and some cache lines behind so that all channels of
        // memory are used alike; a page may remain.
        let each = MBUF_LEN + size_of::<Area>() + 2176 + 4 * 64;
        assert!((COUNT * 2176..=COUNT * each + 4096).contains(&extent), "{extent} bytes");
    }
}
