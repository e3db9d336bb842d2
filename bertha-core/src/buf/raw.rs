//! Memory with an owner: what a [`Buf`](crate::Buf) is a window into.

use super::block;
use super::window::Window;
use std::ptr::NonNull;
use std::slice;

/// How an owner of buffer memory counts the windows into it.
///
/// A `static` of this type also identifies the owner: a datapath recognises its own buffers by its address.
#[derive(Debug)]
pub struct Vtable {
    /// Counts one more window.
    pub share: unsafe fn(storage: NonNull<Storage>),
    /// Counts one window less, and takes the memory back after the last one.
    pub release: unsafe fn(storage: NonNull<Storage>),
}

/// A piece of memory for buffers. Its owner keeps one of these for as long as there are windows into the memory:
/// beside it, or wherever it likes (for DPDK, in the mbuf's private area).
///
/// The owner finds itself by the address of this struct, for instance as the first field of a `#[repr(C)]` struct of
/// its own.
#[derive(Debug)]
pub struct Storage {
    /// The first byte.
    pub memory: NonNull<u8>,
    /// How many bytes there are, below 128 MiB.
    pub len: u32,
    /// How the owner counts windows.
    pub vtable: &'static Vtable,
}

/// The parts of a [`Buf`](crate::Buf), for datapaths with memory of their own (a DPDK mbuf, a ring).
///
/// # Safety
/// Whoever makes a `Buf` of it promises that
/// * `storage` points to a [`Storage`] that is not written to, and whose `len` bytes from `memory` on are valid and
///   initialised, until `vtable.release` was called once for this window and once for every `share`;
/// * `start + len + tailroom` is at most the storage's length, and `headroom` at most `start`;
/// * nothing but this window reads or writes the `headroom + len + tailroom` bytes around the message, until
///   `vtable.release` is called for it;
/// * `vtable.share` and `vtable.release` may be called from any thread, with `storage` as argument.
#[derive(Debug, Clone, Copy)]
pub struct RawBuf {
    /// What the message lies in.
    pub storage: NonNull<Storage>,
    /// Where the message begins in it.
    pub start: usize,
    /// The length of the message.
    pub len: usize,
    /// How many bytes in front of the message belong to this window.
    pub headroom: usize,
    /// How many bytes behind the message belong to this window.
    pub tailroom: usize,
}

/// A window that is counted.
pub(super) struct View {
    storage: NonNull<Storage>,
    pub(super) window: Window,
}

// SAFETY: by the promises above the window has its bytes to itself, and `share` and `release` may be called from any
// thread.
unsafe impl Send for View {}
// SAFETY: a shared `View` only allows reading its own bytes and fields.
unsafe impl Sync for View {}

impl View {
    /// # Safety
    /// The promises of [`RawBuf`] hold for `storage` and `window`, which is counted.
    #[inline]
    pub(super) unsafe fn new(storage: NonNull<Storage>, window: Window) -> Self {
        Self { storage, window }
    }

    /// The storage, with the right to all that its owner has around it.
    #[cfg(test)]
    pub(super) fn pointer(&self) -> NonNull<Storage> {
        self.storage
    }

    #[inline]
    pub(super) fn storage(&self) -> &Storage {
        // SAFETY: it lives while it has a window, and is not written to.
        unsafe { self.storage.as_ref() }
    }

    #[inline]
    pub(super) fn is_in(&self, other: &Self) -> bool {
        self.storage == other.storage
    }

    /// Bytes behind the message up to the end of the storage, if they belong to it.
    #[inline]
    pub(super) fn tailroom(&self) -> usize {
        if self.window.is_last() { self.storage().len as usize - self.window.end() } else { 0 }
    }

    #[inline]
    fn data(&self) -> *mut u8 {
        // SAFETY: a window lies within its storage.
        unsafe { self.storage().memory.as_ptr().add(self.window.start()) }
    }

    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: the window's bytes are initialised, and only reachable through `self`, which is borrowed shared.
        unsafe { slice::from_raw_parts(self.data(), self.window.len()) }
    }

    /// The first `n` bytes. The caller has checked that they are there.
    #[inline]
    pub(super) fn first_mut(&mut self, n: usize) -> &mut [u8] {
        debug_assert!(n <= self.window.len());
        // SAFETY: as in `bytes_mut`, of which this is a part.
        unsafe { slice::from_raw_parts_mut(self.data(), n) }
    }

    #[inline]
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`; `self` is borrowed exclusively, and no other window overlaps this one.
        unsafe { slice::from_raw_parts_mut(self.data(), self.window.len()) }
    }

    /// Splits the window behind its first `n` message bytes. The caller has checked that they are there.
    #[inline]
    pub(super) fn split_to(&mut self, n: usize) -> Self {
        self.count_more(1);
        let (front, behind) = self.window.split(n);
        self.window = behind;
        Self { storage: self.storage, window: front }
    }

    /// Another window into the same storage, which is counted already: see [`count_more`](Self::count_more). It overlaps
    /// with none.
    #[inline]
    pub(super) fn counted(&self, window: Window) -> Self {
        Self { storage: self.storage, window }
    }

    /// Counts so many more windows, each of which is to be released.
    #[inline]
    pub(super) fn count_more(&self, windows: u32) {
        // The usual owner is known, so that its counting is compiled into the caller.
        if self.is_pooled() {
            // SAFETY: this window is one into a block, and counted.
            unsafe { block::count_more(self.storage, windows) };
        } else {
            for _ in 0..windows {
                // SAFETY: `storage` is what `vtable` is to be called with, and this window is still counted.
                unsafe { (self.storage().vtable.share)(self.storage) };
            }
        }
    }

    /// Ends so many windows into the same storage, this one among them. Called once for each, when its `Buf` is dropped.
    #[inline]
    pub(super) fn release(&mut self, windows: u32) {
        if self.is_pooled() {
            // SAFETY: these windows are into a block, counted, and not used after their `Buf`s were dropped.
            unsafe { block::release_many(self.storage, windows) };
        } else {
            // Read before the last window ends, and the storage with it.
            let release = self.storage().vtable.release;
            for _ in 0..windows {
                // SAFETY: the window is counted, and not used after its `Buf` was dropped.
                unsafe { release(self.storage) };
            }
        }
    }

    #[inline]
    pub(super) fn is_pooled(&self) -> bool {
        self.is_of(&block::VTABLE)
    }

    #[inline]
    pub(super) fn is_of(&self, owner: &'static Vtable) -> bool {
        std::ptr::eq(self.storage().vtable, owner)
    }

    #[inline]
    pub(super) fn raw(&self) -> RawBuf {
        let Self { storage, window } = *self;
        let (start, len, headroom) = (window.start(), window.len(), window.headroom());
        RawBuf { storage, start, len, headroom, tailroom: self.tailroom() }
    }
}
