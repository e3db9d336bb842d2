//! The pool: blocks for buffers that no datapath owns, and the count of windows into each.

use super::block::Block;
use super::free_list;
use super::storage::{Storage, Vtable};
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

/// The functions of the pool's blocks, by which they are recognised.
pub(super) static VTABLE: Vtable = Vtable { share, release };

/// The most windows into one block, as for the references of an `Arc`: beyond it the process ends.
const MAX_WINDOWS: u32 = i32::MAX as u32;

/// The storage of a block of at least `len` bytes, with one window, which is the caller's. All of its bytes are initialised.
/// `len` is at most [`MAX_STORAGE`](super::window::MAX_STORAGE).
#[inline]
pub(super) fn take(len: u32) -> NonNull<Storage> {
    let class = Block::class_for(len);
    let block = class.and_then(free_list::take).unwrap_or_else(|| Block::allocate(class, len, &VTABLE));
    let storage = block.cast();
    // SAFETY: the block came from the free list or the allocator, and is ours alone.
    unsafe { Block::of(storage) }.windows.store(1, Ordering::Relaxed);
    storage
}

/// Counts `windows` more.
///
/// # Safety
/// `storage` is that of a block with at least one window, which lives until the call returns.
#[inline]
pub(super) unsafe fn share_many(storage: NonNull<Storage>, windows: u32) {
    // SAFETY: a block with a window is not freed.
    let block = unsafe { Block::of(storage) };
    // Relaxed as in `Arc::clone`: the new windows are made from an existing one.
    //
    // The check comes after the addition, so other threads may add on while this one is about to abort. The count can't wrap in
    // that time: one call adds one window, or the pieces of a message, none of which is empty. The messages of one storage
    // don't overlap and it has less than 2^27 bytes, so calls that run at once add less than 2^27 plus one for each thread.
    if block.windows.fetch_add(windows, Ordering::Relaxed) > MAX_WINDOWS {
        too_many();
    }
}

/// Ends the process: windows that were forgotten rather than dropped have used up the count, and one that wraps would free
/// memory in use.
#[cold]
fn too_many() -> ! {
    std::process::abort()
}

/// Ends `windows`, and takes the block back after the last.
///
/// # Safety
/// `storage` is that of a block with at least so many windows, which are the caller's and not used afterwards.
#[inline]
pub(super) unsafe fn release_many(storage: NonNull<Storage>, windows: u32) {
    // SAFETY: a block with a window is not freed, and the reference is not used once the caller's windows are uncounted.
    let block = unsafe { Block::of(storage) };
    // The common case, all there are, needs no read-modify-write: a window is made from another, so nothing can add one. Acquire
    // pairs with the Release below of a window that another thread dropped before, so its writes happen before the
    // block's reuse.
    if block.windows.load(Ordering::Acquire) == windows
        || block.windows.fetch_sub(windows, Ordering::AcqRel) == windows
    {
        // SAFETY: all windows are gone, and with them all references to the block but this one.
        unsafe { take_back(storage.cast()) };
    }
}

/// # Safety
/// As for [`share_many`].
unsafe fn share(storage: NonNull<Storage>) {
    // SAFETY: the caller's promise.
    unsafe { share_many(storage, 1) };
}

/// # Safety
/// As for [`release_many`].
unsafe fn release(storage: NonNull<Storage>) {
    // SAFETY: the caller's promise.
    unsafe { release_many(storage, 1) };
}

/// # Safety
/// `block` came from `Block::allocate`, has no window in use, and is not used afterwards.
#[inline]
unsafe fn take_back(block: NonNull<Block>) {
    // SAFETY: it is not freed before the calls below.
    match unsafe { block.as_ref() }.class() {
        // SAFETY: the caller's promise. Its memory was zeroed when it was allocated and only written to since, so it is
        // initialised for the next owner.
        Some(class) => unsafe { free_list::put(class, block) },
        // SAFETY: the caller's promise.
        None => unsafe { Block::free(block) },
    }
}

/// The number of windows into a block.
///
/// # Safety
/// `storage` is that of a block with at least one window.
#[cfg(test)]
pub(super) unsafe fn windows(storage: NonNull<Storage>) -> u32 {
    // SAFETY: a block with a window is not freed.
    unsafe { Block::of(storage) }.windows.load(Ordering::Relaxed)
}

/// Pretends that as many windows were forgotten as a block allows.
///
/// # Safety
/// `storage` is that of a block with at least one window.
#[cfg(test)]
pub(super) unsafe fn forget_up_to_the_limit(storage: NonNull<Storage>) {
    // SAFETY: a block with a window is not freed.
    unsafe { Block::of(storage) }.windows.store(MAX_WINDOWS, Ordering::Relaxed);
}
