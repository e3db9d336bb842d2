//! A counted window into a storage. All access to the bytes of buffers is here.

use super::storage::{RawBuf, Storage, Vtable};
use super::window::Window;
use super::{Fate, pool};
use std::ptr::NonNull;
use std::slice;

/// A window into a storage, counted by its owner.
///
/// The invariant that the `unsafe` blocks below rest on, for as long as the window is counted:
/// 1. `storage` points to a `Storage` that is not written to, and its bytes are valid and initialised;
/// 2. the window, with its headroom, and with the tailroom if it is the last, lies within the storage;
/// 3. these bytes belong to this view alone: no other view or pointer reads or writes them;
/// 4. `share`, `release` and `settle` may be called with `storage` from any thread.
///
/// It has no destructor: [`Buf`](super::Buf), [`Segments`](super::Segments) and [`RecycledBufs`](super::RecycledBufs) release it.
pub(super) struct View {
    storage: NonNull<Storage>,
    window: Window,
}

// SAFETY: by 3 the view has its bytes to itself, whichever thread it is in; by 1 the storage is only read, and by 4 counted
// from any thread.
unsafe impl Send for View {}
// SAFETY: a shared view reads its own bytes and fields, which by 3 nothing writes meanwhile, and counts, which by 4 is
// allowed from any thread.
unsafe impl Sync for View {}

impl View {
    /// Returns a window of `len` bytes behind `headroom` in a block of the pool, with all that follows as
    /// tailroom. Both together are at most [`MAX_STORAGE`](super::window::MAX_STORAGE), and the headroom at
    /// most [`MAX_HEADROOM`](super::window::MAX_HEADROOM).
    #[inline]
    pub(super) fn pooled(len: usize, headroom: usize) -> Self {
        // The block is at least so long, counts this window as its only one, and is initialised: 1 to 4 hold.
        let storage = pool::take((len + headroom) as u32);
        Self { storage, window: Window::new(headroom, len, headroom, true) }
    }

    /// # Safety
    /// `raw` keeps the promises listed at [`RawBuf`].
    #[inline]
    pub(super) unsafe fn from_raw(raw: RawBuf) -> Self {
        let RawBuf { storage, start, len, headroom, tailroom } = raw;
        // SAFETY: the caller promises that it points to a `Storage`.
        let whole = unsafe { storage.as_ref() }.len as usize;
        // The promises are 1 to 4. The window's rooms are at most those of `raw`: it is the last only if its tailroom reaches
        // the end of the storage.
        Self { storage, window: Window::new(start, len, headroom, start + len + tailroom == whole) }
    }

    /// Returns the parts of the view, whose count goes to the caller.
    #[inline]
    pub(super) fn raw(&self) -> RawBuf {
        let Self { storage, window } = *self;
        let start = window.start();
        let len = window.len();
        let headroom = window.headroom();
        RawBuf { storage, start, len, headroom, tailroom: self.tailroom() }
    }

    /// Returns a view of another window into the same storage. This view has to be released as well, unless
    /// it is forgotten.
    ///
    /// # Safety
    /// The window was counted, by [`count_more`](Self::count_more) or for a view that is forgotten, and 2 and 3 hold for it
    /// whenever its bytes are used.
    #[inline]
    pub(super) unsafe fn counted(&self, window: Window) -> Self {
        Self { storage: self.storage, window }
    }

    #[inline]
    fn storage(&self) -> &Storage {
        // SAFETY: by 1 the storage lives while this window is counted, and the view is borrowed for as long.
        unsafe { self.storage.as_ref() }
    }

    #[inline]
    pub(super) fn window(&self) -> Window {
        self.window
    }

    #[inline]
    pub(super) fn is_in(&self, other: &Self) -> bool {
        self.storage == other.storage
    }

    #[inline]
    pub(super) fn is_of(&self, owner: &'static Vtable) -> bool {
        std::ptr::eq(self.storage().vtable, owner)
    }

    #[inline]
    pub(super) fn is_pooled(&self) -> bool {
        self.is_of(&pool::VTABLE)
    }

    /// Returns the number of bytes behind the message, up to the end of the storage, if they belong to this
    /// view.
    #[inline]
    pub(super) fn tailroom(&self) -> usize {
        if self.window.is_last() { self.storage().len as usize - self.window.end() } else { 0 }
    }

    #[inline]
    fn data(&self) -> *mut u8 {
        // SAFETY: by 2 the start of the window lies within the storage, or at its end.
        unsafe { self.storage().memory.as_ptr().add(self.window.start()) }
    }

    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: by 1 and 2 the bytes are valid and initialised, by 3 only this view can write them, and it is borrowed.
        unsafe { slice::from_raw_parts(self.data(), self.window.len()) }
    }

    #[inline]
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and the view is borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(self.data(), self.window.len()) }
    }

    /// Moves `n` bytes of headroom into the message and returns them. `None` if the headroom is shorter.
    #[inline]
    pub(super) fn take_headroom(&mut self, n: usize) -> Option<&mut [u8]> {
        if n > self.window.headroom() {
            return None;
        }
        self.window = self.window.back(n);
        // SAFETY: as in `bytes_mut`: the first `n` of at least as many bytes.
        Some(unsafe { slice::from_raw_parts_mut(self.data(), n) })
    }

    /// Moves `n` bytes of tailroom into the message and returns them. `None` if the tailroom is shorter.
    #[inline]
    pub(super) fn take_tailroom(&mut self, n: usize) -> Option<&mut [u8]> {
        if n > self.tailroom() {
            return None;
        }
        let len = self.window.len();
        self.window = self.window.with_len(len + n);
        self.bytes_mut().get_mut(len..)
    }

    /// Moves the first `n` bytes of the message to the headroom. Returns true if the message has at least `n`
    /// bytes.
    #[inline]
    pub(super) fn advance(&mut self, n: usize) -> bool {
        let there = n <= self.window.len();
        if there {
            self.window = self.window.forward(n);
        }
        there
    }

    /// Shortens the message to `len` bytes, if it is longer.
    #[inline]
    pub(super) fn truncate(&mut self, len: usize) {
        if let Some(cut) = self.window.len().checked_sub(len) {
            self.window = self.window.without_last(cut);
        }
    }

    /// Splits off the first `n` bytes of the message, with the headroom. `None` if the message is shorter.
    #[inline]
    pub(super) fn split_to(&mut self, n: usize) -> Option<Self> {
        if n > self.window.len() {
            return None;
        }
        self.count_more(1);
        // Two windows that don't overlap and have no room between them: 2 and 3 hold for both.
        let (front, behind) = self.window.split(n);
        self.window = behind;
        Some(Self { storage: self.storage, window: front })
    }

    /// Adds `windows` to the count of windows. Each of them has to be released.
    #[inline]
    pub(super) fn count_more(&self, windows: u32) {
        // The pool is the usual owner and is known here, so that its counting is compiled into the caller.
        if self.is_pooled() {
            // SAFETY: only the pool makes storages with its vtable, for blocks; this window is counted until the end of the
            // borrow.
            unsafe { pool::share_many(self.storage, windows) };
        } else {
            for _ in 0..windows {
                // SAFETY: by 4, and this window is still counted.
                unsafe { (self.storage().vtable.share)(self.storage) };
            }
        }
    }

    /// Ends `windows` windows into the same storage, including this one.
    ///
    /// # Safety
    /// The caller owns `windows` counted windows, and uses neither them nor this view afterwards.
    #[inline]
    pub(super) unsafe fn release(&mut self, windows: u32) {
        if self.is_pooled() {
            // SAFETY: the caller's promise; a storage with the pool's vtable is a block's.
            unsafe { pool::release_many(self.storage, windows) };
        } else {
            // The function is read before the last window ends, and the storage with it.
            let release = self.storage().vtable.release;
            for _ in 0..windows {
                // SAFETY: by 4 and the caller's promise.
                unsafe { release(self.storage) };
            }
        }
    }

    /// Returns the function by which a window ends with a fate, if the storage has one.
    #[inline]
    pub(super) fn settle_fn(&self) -> Option<unsafe fn(NonNull<Storage>, Fate)> {
        self.storage().vtable.settle
    }

    /// Returns the storage that is counted.
    pub(super) fn storage_ptr(&self) -> NonNull<Storage> {
        self.storage
    }
}
