//! One frame in one mbuf.

use crate::pool::{self, Area, VTABLE};
use bertha_core::Buf;
use bertha_dpdk_sys as sys;
use bertha_netstack::{Checksums, Offloaded};
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

/// A whole frame in a buffer of a [`Pool`](crate::Pool), with nobody else in it: what ports receive and send.
///
/// Dropping it gives the buffer back.
#[repr(transparent)]
pub struct Packet(sys::Frame);

// SAFETY: the mbuf is the packet's alone, and any thread may use and free one.
unsafe impl Send for Packet {}
// SAFETY: a shared packet only shows its bytes.
unsafe impl Sync for Packet {}

impl Packet {
    /// Takes over what a port gave.
    ///
    /// # Safety
    /// The frame's mbuf is from a [`Pool`](crate::Pool), belongs to the caller alone, and has the frame in its memory.
    #[inline]
    pub(crate) unsafe fn from_frame(frame: sys::Frame) -> Self {
        Self(frame)
    }

    /// What a port takes, with the buffer.
    #[inline]
    pub(crate) fn into_frame(self) -> sys::Frame {
        ManuallyDrop::new(self).0
    }

    /// What the port said of its checksums.
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

    /// What the port said of `other`'s checksums holds for this one too, which is a copy.
    pub(crate) fn checked_like(&mut self, other: &Self) {
        self.0 = self.0.with_checksums(other.0.checksums());
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

    /// The frame's bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        let first = self.first();
        // SAFETY: the frame lies in its buffer's memory with its whole length; the memory is initialised, and the packet's
        // alone, which is borrowed.
        unsafe { std::slice::from_raw_parts(first.as_ptr(), self.0.len().into()) }
    }

    /// The frame's bytes.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let first = self.first();
        // SAFETY: as above; the packet is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(first.as_ptr(), self.0.len().into()) }
    }

    #[inline]
    fn first(&self) -> NonNull<u8> {
        // SAFETY: a packet's mbuf is never null.
        let mbuf = unsafe { NonNull::new_unchecked(self.0.mbuf) };
        // SAFETY: it is from a `Pool`.
        let area = unsafe { pool::area_of(mbuf) };
        // SAFETY: areas live for ever, and are not written to while the mbuf is the packet's.
        let memory = unsafe { area.as_ref() }.storage.memory;
        // SAFETY: the frame lies in its buffer's memory.
        unsafe { memory.add(self.0.start().into()) }
    }

    /// The frame as a message, with all of the buffer around it as room.
    #[inline]
    pub fn into_buf(self) -> Buf {
        let frame = self.into_frame();
        // SAFETY: a packet's mbuf is never null.
        let mbuf = unsafe { NonNull::new_unchecked(frame.mbuf) };
        // SAFETY: it is from a `Pool` and was the packet's alone, with the frame in its memory.
        unsafe { pool::window(mbuf, frame.start().into(), frame.len().into()) }
    }

    /// A part of the frame as a message, with all of the buffer around it as room.
    ///
    /// # Panics
    /// If the frame is shorter.
    #[inline]
    pub(crate) fn into_part(self, part: Range<usize>) -> Buf {
        let this = ManuallyDrop::new(self);
        // SAFETY: the packet is not used any more.
        unsafe { this.read_part(part) }
    }

    /// As [`into_part`](Self::into_part), for a packet that lies elsewhere.
    ///
    /// # Safety
    /// The packet is used no more, and not dropped.
    ///
    /// # Panics
    /// If the frame is shorter.
    #[inline]
    pub(crate) unsafe fn read_part(&self, part: Range<usize>) -> Buf {
        assert!(part.start <= part.end && part.end <= self.0.len().into(), "a part lies within its frame");
        let frame = self.0;
        // SAFETY: a packet's mbuf is never null.
        let mbuf = unsafe { NonNull::new_unchecked(frame.mbuf) };
        // SAFETY: it is from a `Pool` and was the packet's alone, with the frame in its memory, of which this is a part.
        unsafe { pool::window(mbuf, usize::from(frame.start()) + part.start, part.end - part.start) }
    }

    /// The message as a frame, if it lies in a buffer of a pool and nothing else does.
    ///
    /// # Errors
    /// The message, which is to be copied then.
    #[inline]
    pub fn from_buf(message: Buf) -> Result<Self, Buf> {
        Self::behind(0, message)
    }

    /// As [`from_buf`](Self::from_buf), with `room` bytes in front of the message, if the buffer has so many: it is the packet's as a
    /// whole.
    ///
    /// # Errors
    /// The message.
    #[inline]
    pub(crate) fn behind(room: usize, message: Buf) -> Result<Self, Buf> {
        let raw = message.into_raw(&VTABLE)?;
        let area = raw.storage.cast::<Area>();
        // SAFETY: the vtable is ours, so the storage begins an area, which lives for ever.
        // Acquire as in `pool::release`.
        if raw.start < room || unsafe { area.as_ref() }.windows.load(Ordering::Acquire) != 1 {
            // SAFETY: it is as the message was, which is used no more.
            return Err(unsafe { Buf::from_raw(raw) });
        }
        // The memory of an mbuf is at most 64 KiB long.
        let (start, len) = ((raw.start - room) as u16, (raw.len + room) as u16);
        Ok(Self(sys::Frame::new(pool::mbuf_of(area), start, len, 0)))
    }
}

impl Drop for Packet {
    fn drop(&mut self) {
        // SAFETY: the mbuf is the packet's alone.
        unsafe { sys::bertha_mbuf_free(self.0.mbuf) };
    }
}

impl fmt::Debug for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packet").field("len", &self.0.len()).finish_non_exhaustive()
    }
}
