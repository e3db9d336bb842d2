//! A window into memory with an owner: what a [`Buf`](crate::Buf) is made of.

use std::ptr::NonNull;
use std::slice;

/// How an owner of buffer memory counts the windows into it.
///
/// A `static` of this type also identifies the owner: a datapath recognises its own buffers by its address.
#[derive(Debug)]
pub struct Vtable {
    /// Counts one more window.
    pub share: unsafe fn(owner: NonNull<()>),
    /// Counts one window less, and takes the memory back after the last one.
    pub release: unsafe fn(owner: NonNull<()>),
}

/// The parts of a [`Buf`](crate::Buf), for datapaths with memory of their own (a DPDK mbuf, a ring).
///
/// # Safety
/// Whoever makes a `Buf` of it promises that
/// * the `headroom + len + tailroom` bytes around `data` are initialised, and nothing but this window reads or writes
///   them until `vtable.release(owner)` is called;
/// * `vtable.share` and `vtable.release` may be called from any thread, with `owner` as argument;
/// * the memory stays valid until `release` was called once for this window and once for every `share`.
#[derive(Debug, Clone, Copy)]
pub struct RawBuf {
    /// The first byte of the message.
    pub data: NonNull<u8>,
    /// The length of the message.
    pub len: u32,
    /// How many bytes in front of `data` belong to this window.
    pub headroom: u32,
    /// How many bytes behind the message belong to this window.
    pub tailroom: u32,
    /// What `vtable` is called with.
    pub owner: NonNull<()>,
    /// How the owner counts windows.
    pub vtable: &'static Vtable,
}

// SAFETY: by the promises above the window has its bytes to itself, and `share` and `release` may be called from any
// thread.
unsafe impl Send for RawBuf {}
// SAFETY: a shared `RawBuf` only allows reading its own bytes and fields.
unsafe impl Sync for RawBuf {}

impl RawBuf {
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: the window's bytes are initialised, and only reachable through `self`, which is borrowed shared.
        unsafe { slice::from_raw_parts(self.data.as_ptr(), self.len as usize) }
    }

    #[inline]
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`; `self` is borrowed exclusively, and no other window overlaps this one.
        unsafe { slice::from_raw_parts_mut(self.data.as_ptr(), self.len as usize) }
    }

    /// Takes `n` bytes of headroom into the message. The caller has checked that they are there.
    #[inline]
    pub(super) fn move_front_back(&mut self, n: u32) {
        debug_assert!(n <= self.headroom);
        // SAFETY: `n <= headroom`, and the headroom lies in the same allocation in front of `data`.
        self.data = unsafe { self.data.sub(n as usize) };
        self.headroom -= n;
        self.len += n;
    }

    /// Gives the first `n` bytes of the message to the headroom. The caller has checked that they are there.
    #[inline]
    pub(super) fn move_front_forward(&mut self, n: u32) {
        debug_assert!(n <= self.len);
        // SAFETY: `n <= len`, so the result lies within the message or at its end.
        self.data = unsafe { self.data.add(n as usize) };
        self.headroom += n;
        self.len -= n;
    }

    /// Splits the window behind its first `n` message bytes. The caller has checked that they are there.
    pub(super) fn split_to(&mut self, n: u32) -> Self {
        debug_assert!(n <= self.len);
        // SAFETY: `owner` is what `vtable` is to be called with, and this window is still counted.
        unsafe { (self.vtable.share)(self.owner) };
        let front = Self {
            data: self.data,
            len: n,
            headroom: self.headroom,
            tailroom: 0,
            owner: self.owner,
            vtable: self.vtable,
        };
        self.move_front_forward(n);
        self.headroom = 0;
        front
    }

    /// Ends the window. Called once, by the drop of its `Buf`.
    #[inline]
    pub(super) fn release(&mut self) {
        // SAFETY: this window is counted, and is not used after its `Buf` was dropped.
        unsafe { (self.vtable.release)(self.owner) };
    }
}
