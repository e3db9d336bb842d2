//! Frames in mbufs: a single frame, a burst of frames, and the windows into a frame that are messages.

use crate::eal::enter_thread;
use bertha_core::Buf;
use bertha_core::buf::{RawBuf, Storage, Vtable};
use bertha_dpdk_sys as sys;
use bertha_netstack::{Checksums, Offloaded};
use std::ffi::c_void;
use std::fmt;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Largest number of frames in a burst: the number that drivers handle best.
const MAX_BURST: usize = 32;

/// Length of an mbuf without its private area: two cache lines in all releases.
/// [`Pool::new`](crate::Pool::new) checks it.
pub(crate) const MBUF_LEN: usize = 128;

/// Maximum number of windows into an mbuf. A thread that finds the count above this number aborts. As with
/// `Arc`, the count cannot wrap before that, since fewer than 2^31 threads can be between the addition and
/// the check.
const MAX_WINDOWS: u32 = i32::MAX as u32;

/// The private area of an mbuf. It is written once, when the pool is made, except for the count.
///
/// The area is as long as a cache line, so that frames begin at a cache line: short frames then lie in two
/// lines instead of three.
#[repr(C, align(64))]
pub(crate) struct Area {
    /// Description of the mbuf's memory. It is the first field, so that its address is the area's.
    storage: Storage,
    /// Number of windows into the mbuf; meaningless while the mbuf belongs to the pool or to a port. DPDK's
    /// own count, which stays 1 meanwhile, has too few bits for a message of many parts.
    windows: AtomicU32,
}

/// The functions that count windows into mbufs; the address of this table also distinguishes mbufs from other
/// buffers.
static VTABLE: Vtable = Vtable { share, release, settle: None };

/// Returns the mbuf of a private area.
///
/// # Safety
/// `area` is the private area of an mbuf of a [`Pool`](crate::Pool).
#[inline]
unsafe fn mbuf_of(area: NonNull<Area>) -> NonNull<sys::Mbuf> {
    // SAFETY: the area lies `MBUF_LEN` bytes behind the beginning of its mbuf, in the same object of the
    // pool.
    unsafe { area.byte_sub(MBUF_LEN).cast() }
}

/// Returns the private area of an mbuf.
///
/// # Safety
/// `mbuf` is from a [`Pool`](crate::Pool).
#[inline]
unsafe fn area_of(mbuf: NonNull<sys::Mbuf>) -> NonNull<Area> {
    // SAFETY: each mbuf of a pool has its `Area` `MBUF_LEN` bytes behind its beginning, in the same object.
    unsafe { mbuf.byte_add(MBUF_LEN).cast() }
}

/// Counts one more window.
///
/// # Safety
/// `storage` belongs to an mbuf with at least one window.
unsafe fn share(storage: NonNull<Storage>) {
    // SAFETY: the storage is the first field of an `Area` (`repr(C)`), which lives forever.
    let area = unsafe { storage.cast::<Area>().as_ref() };
    // Relaxed as in `Arc::clone`: the new window is made from an existing one.
    if area.windows.fetch_add(1, Ordering::Relaxed) >= MAX_WINDOWS {
        // A count that wraps would free an mbuf in use. Only windows that are forgotten without being dropped
        // lead here.
        std::process::abort();
    }
}

/// Counts one window less, and frees the mbuf after the last one.
///
/// # Safety
/// `storage` belongs to an mbuf with at least one window, and the caller's window is not used afterwards.
unsafe fn release(storage: NonNull<Storage>) {
    let area = storage.cast::<Area>();
    // SAFETY: the storage is the first field of an `Area` (`repr(C)`), which lives forever.
    let windows = &unsafe { area.as_ref() }.windows;
    // The common case of a single window needs no read-modify-write: windows are made from windows, and no
    // other window exists. Acquire pairs with the Release of a window that another thread dropped before, so
    // the other thread's writes happen before the mbuf's reuse.
    if windows.load(Ordering::Acquire) == 1 || windows.fetch_sub(1, Ordering::AcqRel) == 1 {
        enter_thread();
        // SAFETY: the storage belongs to a pool's mbuf.
        let mbuf = unsafe { mbuf_of(area) };
        // SAFETY: the last window is gone, so nothing refers to the mbuf any more; any thread may free an
        // mbuf.
        unsafe { sys::bertha_dpdk_mbuf_free(mbuf.as_ptr()) };
    }
}

/// Fills the private area of a new mbuf. DPDK calls the function for each mbuf while it makes a pool.
///
/// # Safety
/// `area` has room for an [`Area`] and begins at a cache line, and `memory` has `len` initialised bytes; both
/// live forever.
pub(crate) unsafe extern "C" fn prepare(area: *mut c_void, memory: *mut u8, len: u16, _: *mut c_void) {
    let Some(memory) = NonNull::new(memory) else { return };
    let storage = Storage { memory, len: len.into(), vtable: &VTABLE };
    // SAFETY: the area is large enough and aligned, by the caller's promise, and nothing refers to it before
    // the pool is made.
    unsafe { area.cast::<Area>().write(Area { storage, windows: AtomicU32::new(0) }) };
}

/// Makes the first window into an mbuf: `len` bytes from `start` on. The rest of the buffer is its headroom
/// and tailroom.
///
/// # Safety
/// `mbuf` is from a [`Pool`](crate::Pool), belongs to the caller alone, and has `start + len` bytes of
/// memory.
#[inline]
pub(crate) unsafe fn window(mbuf: NonNull<sys::Mbuf>, start: usize, len: usize) -> Buf {
    // SAFETY: the mbuf is from a pool.
    let area = unsafe { area_of(mbuf) };
    // SAFETY: `prepare` wrote the area when the pool was made, and it lives forever.
    let own = unsafe { area.as_ref() };
    own.windows.store(1, Ordering::Relaxed);
    // The difference is not negative, by the caller's promise.
    let tailroom = (own.storage.len as usize).wrapping_sub(start + len);
    let raw = RawBuf { storage: area.cast(), start, len, headroom: start, tailroom };
    // SAFETY: the promises of `RawBuf`, in order.
    // * `storage` is written by `prepare` alone, before. Its memory is mapped as long as the process lives,
    //   and initialised: DPDK's memory is zero when it is mapped.
    // * The window lies within the storage, by the caller's promise.
    // * No other window exists, since the mbuf was the caller's alone and has none. No driver writes to it:
    //   an mbuf that `rte_eth_rx_burst` or `rte_pktmbuf_alloc` has returned is the caller's until
    //   `rte_eth_tx_burst` or a free takes it. For a network card, and for drivers that lend buffers to
    //   another process (net_virtio_user, and net_memif with `zero-copy=yes`), this holds if the device or
    //   that process keeps the driver's protocol; `Config::device` says that it has to be trusted.
    // * `share` and `release` use an atomic and a function of DPDK that is safe in any thread.
    unsafe { Buf::from_raw(raw) }
}

/// A whole frame in a buffer of a [`Pool`](crate::Pool), with no other window into it: the unit that ports
/// receive and send.
///
/// Dropping it gives the buffer back.
// The frame's mbuf is never null, is from a `Pool`, belongs to the packet alone, and has the frame in its
// memory.
#[repr(transparent)]
pub struct Packet(sys::Frame);

// SAFETY: the mbuf belongs to the packet alone, and any thread may use and free an mbuf.
unsafe impl Send for Packet {}
// SAFETY: a shared packet only gives access to its bytes.
unsafe impl Sync for Packet {}

impl Packet {
    /// Returns the port's verdict on the frame's checksums.
    #[inline]
    pub(crate) fn checksums(&self) -> Checksums {
        const GOOD: u32 = sys::CHECKSUMS_HEADER | sys::CHECKSUMS_PAYLOAD;
        match self.0.checksums() {
            0 => Checksums::Unknown,
            sys::CHECKSUMS_HEADER => Checksums::Header,
            sys::CHECKSUMS_PAYLOAD => Checksums::Payload,
            GOOD => Checksums::Good,
            _ => Checksums::Bad,
        }
    }

    /// Adopts the port's verdict on the checksums of `original`, of which this packet is a copy.
    pub(crate) fn copy_checksums(&mut self, original: &Self) {
        self.0 = self.0.with_checksums(original.0.checksums());
    }

    /// Leaves checksums of the frame to the port that will send it.
    #[inline]
    pub(crate) fn offload(&mut self, what: Offloaded) {
        let flag = |set: bool, flag: u32| if set { flag } else { 0 };
        // Headers are shorter than 256 bytes.
        let what = flag(what.offload.header, sys::OFFLOAD_HEADER)
            | flag(what.offload.udp, sys::OFFLOAD_UDP)
            | flag(what.is_v4, sys::OFFLOAD_V4)
            | (what.link as u32) << sys::OFFLOAD_L2_SHIFT
            | (what.ip as u32) << sys::OFFLOAD_L3_SHIFT;
        self.0 = self.0.with_checksums(what);
    }

    /// Returns the frame's bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        let first = self.first();
        // SAFETY: the frame lies in its buffer's memory with its whole length; the memory is initialised, and
        // belongs to the packet alone, which is borrowed.
        unsafe { std::slice::from_raw_parts(first.as_ptr(), self.0.len().into()) }
    }

    /// Returns the frame's bytes.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let first = self.first();
        // SAFETY: as in `bytes`; the packet is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(first.as_ptr(), self.0.len().into()) }
    }

    #[inline]
    fn mbuf(&self) -> NonNull<sys::Mbuf> {
        // SAFETY: a packet's mbuf is never null.
        unsafe { NonNull::new_unchecked(self.0.mbuf) }
    }

    /// Returns the address of the frame's first byte.
    #[inline]
    fn first(&self) -> NonNull<u8> {
        // SAFETY: a packet's mbuf is from a pool.
        let area = unsafe { area_of(self.mbuf()) };
        // SAFETY: areas live forever; all but the count, an atomic, was written when the pool was made.
        let memory = unsafe { area.as_ref() }.storage.memory;
        // SAFETY: the frame lies in its buffer's memory.
        unsafe { memory.add(self.0.start().into()) }
    }

    /// Makes a message of the frame. The rest of the buffer is its headroom and tailroom.
    #[inline]
    pub fn into_buf(self) -> Buf {
        let len = self.0.len().into();
        self.into_part(0..len)
    }

    /// Makes a message of a part of the frame. The rest of the buffer is its headroom and tailroom.
    ///
    /// # Panics
    /// Panics if the frame is shorter than the part.
    #[inline]
    pub(crate) fn into_part(self, part: Range<usize>) -> Buf {
        assert!(part.start <= part.end && part.end <= self.0.len().into(), "a part lies within its frame");
        let this = ManuallyDrop::new(self);
        let start = usize::from(this.0.start()) + part.start;
        // SAFETY: the mbuf is from a pool and belonged to the packet alone, which is never used again; the
        // part lies within the frame, and the frame within the mbuf's memory.
        unsafe { window(this.mbuf(), start, part.end - part.start) }
    }

    /// Makes a frame of the message, if it lies in a buffer of a pool and is the only window into this
    /// buffer.
    ///
    /// # Errors
    /// Returns the message otherwise, which then has to be copied.
    #[inline]
    pub fn from_buf(message: Buf) -> Result<Self, Buf> {
        Self::with_headers(0, message)
    }

    /// Works as [`from_buf`](Self::from_buf), with `headers` bytes in front of the message, if the
    /// buffer has so many. The headers are written later.
    ///
    /// # Errors
    /// Returns the message otherwise.
    #[inline]
    pub(crate) fn with_headers(headers: usize, message: Buf) -> Result<Self, Buf> {
        let raw = message.into_raw(&VTABLE)?;
        let area = raw.storage.cast::<Area>();
        // SAFETY: the vtable is this module's, so the storage is the first field of an `Area` (`repr(C)`),
        // which lives forever.
        let windows = unsafe { area.as_ref() }.windows.load(Ordering::Acquire);
        // A window that is alone may use the whole buffer. Acquire has the reason given in `release`.
        if raw.start < headers || windows != 1 {
            // SAFETY: the parts come from the message, which is not used any more.
            return Err(unsafe { Buf::from_raw(raw) });
        }
        // The memory of an mbuf is at most 64 KiB long.
        let start = (raw.start - headers) as u16;
        let len = (raw.len + headers) as u16;
        // SAFETY: an `Area` with this module's vtable belongs to a pool's mbuf.
        let mbuf = unsafe { mbuf_of(area) };
        Ok(Self(sys::Frame::new(mbuf.as_ptr(), start, len, 0)))
    }
}

impl Drop for Packet {
    fn drop(&mut self) {
        // SAFETY: the mbuf belongs to the packet alone.
        unsafe { sys::bertha_dpdk_mbuf_free(self.0.mbuf) };
    }
}

impl fmt::Debug for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packet").field("len", &self.0.len()).finish_non_exhaustive()
    }
}

/// Up to 32 frames in order, received or sent in a call. The burst holds them without an allocation.
pub struct Burst {
    /// Packets, of which those from `first` to `end` are written, and dropped with the burst.
    packets: [MaybeUninit<Packet>; MAX_BURST],
    first: usize,
    end: usize,
}

impl Burst {
    /// Creates an empty burst.
    #[inline]
    pub const fn new() -> Self {
        // The array has a statement of its own: otherwise the compiler initialises all of it.
        let packets = [const { MaybeUninit::uninit() }; MAX_BURST];
        Self { packets, first: 0, end: 0 }
    }

    /// Returns the number of frames.
    #[inline]
    pub fn len(&self) -> usize {
        self.end - self.first
    }

    /// Returns true if the burst holds no frames.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first == self.end
    }

    /// Returns true if no frame can be appended. Popped places are free again only once the burst is empty.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.end == MAX_BURST && !self.is_empty()
    }

    /// Returns the number of frames that can be appended.
    #[inline]
    pub(crate) fn room(&self) -> usize {
        if self.is_empty() { MAX_BURST } else { MAX_BURST - self.end }
    }

    /// Appends a frame.
    ///
    /// # Errors
    /// Returns the frame if the burst is full.
    #[inline]
    pub fn push(&mut self, packet: Packet) -> Result<(), Packet> {
        self.rewind();
        let Some(slot) = self.packets.get_mut(self.end) else { return Err(packet) };
        slot.write(packet);
        self.end += 1;
        Ok(())
    }

    /// Returns the frames in their order.
    #[inline]
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Packet> {
        self.packets[self.first..self.end].iter_mut().map(|packet| {
            // SAFETY: packets between `first` and `end` are written.
            unsafe { packet.assume_init_mut() }
        })
    }

    /// Removes the first frame.
    #[inline]
    pub fn pop(&mut self) -> Option<Packet> {
        let first = self.packets[..self.end].get(self.first)?;
        self.first += 1;
        // SAFETY: packets between `first` and `end` were written; this packet is outside of that range now,
        // and so is read once.
        Some(unsafe { first.assume_init_read() })
    }

    /// Moves the range back to the front of the array, if the burst is empty.
    #[inline]
    fn rewind(&mut self) {
        if self.is_empty() {
            (self.first, self.end) = (0, 0);
        }
    }

    /// Appends frames that `receive` writes: its arguments are a pointer and the number of frames that fit,
    /// and it returns the number of written frames.
    ///
    /// # Safety
    /// `receive` returns at most the given number, and has written as many frames from the pointer on; each
    /// frame has an mbuf of a [`Pool`](crate::Pool) that belongs to the caller alone and has the frame in its
    /// memory.
    #[inline]
    pub(crate) unsafe fn receive_with(&mut self, receive: impl FnOnce(*mut sys::Frame, u16) -> u16) -> usize {
        self.rewind();
        let room = &mut self.packets[self.end..];
        // A `Packet` is a `Frame` in memory (`repr(transparent)`), and so is a `MaybeUninit<Packet>`.
        let received = receive(room.as_mut_ptr().cast(), room.len() as u16).into();
        self.end += received;
        received
    }

    /// Removes the first frames, which `send` takes: its arguments are a pointer and the number of frames,
    /// and it returns the number of taken frames.
    ///
    /// # Safety
    /// `send` returns at most the given number, and has taken the ownership of as many frames, from the
    /// pointer on.
    #[inline]
    pub(crate) unsafe fn send_with(&mut self, send: impl FnOnce(*const sys::Frame, u16) -> u16) -> usize {
        let packets = &self.packets[self.first..self.end];
        // The cast has the reason given in `receive_with`.
        let sent = send(packets.as_ptr().cast(), packets.len() as u16).into();
        self.first += sent;
        sent
    }
}

impl Default for Burst {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Burst {
    fn drop(&mut self) {
        while self.pop().is_some() {}
    }
}

impl fmt::Debug for Burst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Burst").field("len", &self.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use crate::open::open;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    #[test]
    fn an_area_fits_the_alignment_of_private_areas() {
        assert_eq!((align_of::<Area>(), size_of::<Area>()), (64, 64));
        assert_eq!(std::mem::offset_of!(Area, storage), 0);
    }

    const ABORTING: &str = "mbuf::tests::one_window_too_many";

    #[test]
    fn a_count_of_windows_aborts_before_it_wraps() {
        let program = std::env::current_exe().unwrap();
        let run = |windows: u32| {
            let mut command = Command::new(&program);
            command.args(["--exact", ABORTING, "--ignored"]).env("BERTHA_TEST_WINDOWS", windows.to_string());
            command.output().unwrap().status
        };
        assert!(run(MAX_WINDOWS - 1).success());
        assert_eq!(run(MAX_WINDOWS).signal(), Some(6), "SIGABRT");
    }

    /// This function is no test: the test above runs it in a process.
    #[test]
    #[ignore = "run by another test, as a process of its own"]
    fn one_window_too_many() {
        let Ok(windows) = std::env::var("BERTHA_TEST_WINDOWS") else { return };
        let mut memory = [0_u8; 64];
        let memory = NonNull::new(memory.as_mut_ptr()).unwrap();
        let storage = Storage { memory, len: 64, vtable: &VTABLE };
        let area = Area { storage, windows: AtomicU32::new(windows.parse().unwrap()) };
        // SAFETY: the storage is the first field of an area with windows.
        unsafe { share(NonNull::from(&area).cast()) };
    }

    #[test]
    fn a_burst_that_was_emptied_has_room_for_a_whole_one() {
        if !crate::AVAILABLE {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "DPDK must be installed in CI");
            return;
        }
        let config = Config { buffers: 8191, ..Config::new("net_null23", "10.0.0.1/24") };
        let port = open(&config).unwrap();
        let pool = port.handle.pool;
        let packet = || Packet::from_buf(pool.buffer(1, 0).unwrap()).unwrap();
        for before in [1, MAX_BURST / 2, MAX_BURST] {
            let mut burst = Burst::new();
            (0..before).for_each(|_| burst.push(packet()).unwrap());
            assert_eq!(burst.room(), MAX_BURST - before);
            while burst.pop().is_some() {}
            assert_eq!(burst.room(), MAX_BURST);
            (0..MAX_BURST).for_each(|_| burst.push(packet()).unwrap());
            assert!(burst.is_full() && burst.room() == 0 && burst.push(packet()).is_err());
        }
        assert_eq!(pool.in_use(), 0, "buffers were kept");
    }
}
