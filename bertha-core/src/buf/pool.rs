//! The pool: blocks for buffers that no datapath owns, and the count of windows into each.

use super::block::Block;
use super::free_list;
use super::storage::{Storage, Vtable};
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

/// The functions of the pool's blocks. Their address identifies the pool as the owner.
pub(super) static VTABLE: Vtable = Vtable { share, release, settle: None };

/// Maximum number of windows into one block, as for the references of an `Arc`: the process is aborted beyond
/// it.
const MAX_WINDOWS: u32 = i32::MAX as u32;

/// Returns the storage of a block of at least `len` bytes, with one window, which belongs to the caller. All
/// of its bytes are initialised. `len` is at most [`MAX_STORAGE`](super::window::MAX_STORAGE).
#[inline]
pub(super) fn take(len: u32) -> NonNull<Storage> {
    let class = Block::class_for(len);
    let block = class.and_then(free_list::take).unwrap_or_else(|| Block::allocate(class, len, &VTABLE));
    let storage = block.cast();
    // SAFETY: the block came from the free list or the allocator, and is ours alone.
    unsafe { Block::of(storage) }.windows.store(1, Ordering::Relaxed);
    storage
}

/// Adds `windows` to the count of windows.
///
/// # Safety
/// `storage` belongs to a block with at least one window, which lives until the call returns.
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

/// Aborts the process: forgotten windows have used up the count, and a count that wraps would free memory in
/// use.
#[cold]
fn too_many() -> ! {
    std::process::abort()
}

/// Subtracts `windows` from the count of windows, and takes the block back after the last window.
///
/// # Safety
/// `storage` belongs to a block with at least `windows` windows, which belong to the caller and are not used
/// afterwards.
#[inline]
pub(super) unsafe fn release_many(storage: NonNull<Storage>, windows: u32) {
    // SAFETY: a block with a window is not freed, and the reference is not used once the caller's windows are uncounted.
    let block = unsafe { Block::of(storage) };
    // Releasing all windows at once is the common case and needs no read-modify-write: a window is made from
    // another window, so nothing can add windows at the same time. Acquire pairs with the Release below of a
    // window that another thread dropped before, so the writes of that thread happen before the block is used
    // again.
    if block.windows.load(Ordering::Acquire) == windows
        || block.windows.fetch_sub(windows, Ordering::AcqRel) == windows
    {
        // SAFETY: all windows are gone, and with them all references to the block but this one.
        unsafe { take_back(storage.cast()) };
    }
}

/// # Safety
/// The conditions of [`share_many`].
unsafe fn share(storage: NonNull<Storage>) {
    // SAFETY: the caller's promise.
    unsafe { share_many(storage, 1) };
}

/// # Safety
/// The conditions of [`release_many`].
unsafe fn release(storage: NonNull<Storage>) {
    // SAFETY: the caller's promise.
    unsafe { release_many(storage, 1) };
}

/// # Safety
/// `block` came from `Block::allocate`, has no window in use, and is not used afterwards.
#[inline]
unsafe fn take_back(block: NonNull<Block>) {
    // SAFETY: the block is not freed before the calls below.
    match unsafe { block.as_ref() }.class() {
        // SAFETY: the caller's promise. Its memory was zeroed when it was allocated and only written to since, so it is
        // initialised for the next owner.
        Some(class) => unsafe { free_list::put(class, block) },
        // SAFETY: the caller's promise.
        None => unsafe { Block::free(block) },
    }
}

/// Returns the number of windows into a block.
///
/// # Safety
/// `storage` belongs to a block with at least one window.
#[cfg(test)]
pub(super) unsafe fn windows(storage: NonNull<Storage>) -> u32 {
    // SAFETY: a block with a window is not freed.
    unsafe { Block::of(storage) }.windows.load(Ordering::Relaxed)
}

/// Sets the count of windows to its maximum, as if windows had been forgotten.
///
/// # Safety
/// `storage` belongs to a block with at least one window.
#[cfg(test)]
pub(super) unsafe fn forget_up_to_the_limit(storage: NonNull<Storage>) {
    // SAFETY: a block with a window is not freed.
    unsafe { Block::of(storage) }.windows.store(MAX_WINDOWS, Ordering::Relaxed);
}
