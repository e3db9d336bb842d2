//! Pooled storage for buffers that no datapath owns.

use super::depot;
use super::raw::{Storage, View, Vtable};
use super::window::Window;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// The sizes that are pooled, in bytes: a small message, a full datagram, a jumbo frame, the largest UDP datagram or
/// a burst that the kernel coalesced.
const CLASSES: [u32; 4] = [512, 2048, 9216, 65_536 + 256];

/// The class of a block that is not pooled.
const UNPOOLED: u8 = CLASSES.len() as u8;

/// How many classes the depot keeps lists for.
pub(super) const CLASS_COUNT: usize = CLASSES.len();

/// The header of a block; its memory follows at once.
#[repr(C, align(16))]
pub(super) struct Block {
    /// Comes first, so that its address is the block's.
    storage: Storage,
    /// How many windows into the storage exist. Zero while the block lies in the depot.
    windows: AtomicU32,
    pub(super) class: u8,
    /// The next block in a free list; only its owner, the list, touches it.
    pub(super) next: Cell<Option<NonNull<Block>>>,
}

pub(super) static VTABLE: Vtable = Vtable { share, release };

/// A block with a window of `len` bytes behind `headroom`. The caller has checked that both together are at most
/// `window::MOST`.
#[inline]
pub(super) fn take(len: usize, headroom: usize) -> View {
    let wanted = (len + headroom) as u32;
    let class = CLASSES.iter().position(|&size| wanted <= size);
    let block = class.and_then(depot::take).unwrap_or_else(|| allocate(class, wanted));
    // SAFETY: the block came from the depot or the allocator, and is ours alone.
    unsafe { block.as_ref() }.windows.store(1, Ordering::Relaxed);
    // SAFETY: the window is counted, lies within the block and is the only one. A pooled block stays initialised.
    unsafe { View::new(block.cast(), Window::new(headroom, len, headroom, true)) }
}

/// How many windows there are into a block.
#[cfg(test)]
pub(super) fn windows(view: &View) -> u32 {
    // SAFETY: tests ask for blocks alone, which begin with their storage and live while they have a window. The pointer is
    // that of the block, not one made of a reference to its storage.
    unsafe { view.pointer().cast::<Block>().as_ref() }.windows.load(Ordering::Relaxed)
}

fn layout(capacity: u32) -> Layout {
    let size = size_of::<Block>() + capacity as usize;
    match Layout::from_size_align(size, align_of::<Block>()) {
        Ok(layout) => layout,
        // `capacity` is at most `MOST`, so the size is far from overflow.
        Err(_) => unreachable!("a block of {size} bytes has a layout"),
    }
}

#[cold]
fn allocate(class: Option<usize>, wanted: u32) -> NonNull<Block> {
    let capacity = class.map_or(wanted, |class| CLASSES[class]);
    let layout = layout(capacity);
    // SAFETY: the layout's size is not zero.
    let start = unsafe { alloc_zeroed(layout) };
    let Some(block) = NonNull::new(start.cast::<Block>()) else { handle_alloc_error(layout) };
    // SAFETY: the memory follows the header in the same allocation.
    let memory = unsafe { block.add(1) }.cast::<u8>();
    let header = Block {
        storage: Storage { memory, len: capacity, vtable: &VTABLE },
        windows: AtomicU32::new(0),
        class: class.map_or(UNPOOLED, |class| class as u8),
        next: Cell::new(None),
    };
    // SAFETY: `block` points to memory of at least the header's size and alignment, and nobody else knows it.
    unsafe { block.write(header) };
    block
}

/// Returns the memory of a block to the allocator.
///
/// # Safety
/// `block` came from `allocate`, has no window, and is not used afterwards.
pub(super) unsafe fn free(block: NonNull<Block>) {
    // SAFETY: the caller owns the block.
    let layout = layout(unsafe { block.as_ref() }.storage.len);
    // SAFETY: it was allocated with this layout, and `Block` has nothing to drop.
    unsafe { dealloc(block.as_ptr().cast(), layout) };
}

/// # Safety
/// `storage` is that of a block with at least one window.
unsafe fn share(storage: NonNull<Storage>) {
    // SAFETY: the caller's promise.
    unsafe { count_more(storage, 1) };
}

/// # Safety
/// `storage` is that of a block with at least one window, and the caller's window is not used afterwards.
unsafe fn release(storage: NonNull<Storage>) {
    // SAFETY: the caller's promise.
    unsafe { release_many(storage, 1) };
}

/// # Safety
/// `storage` is that of a block with at least one window.
#[inline]
pub(super) unsafe fn count_more(storage: NonNull<Storage>, windows: u32) {
    // SAFETY: the block begins with its storage, and lives while it has a window.
    let header = unsafe { storage.cast::<Block>().as_ref() };
    // Relaxed as in `Arc::clone`: the new windows are made from an existing one.
    header.windows.fetch_add(windows, Ordering::Relaxed);
}

/// # Safety
/// `storage` is that of a block with at least so many windows, which are the caller's and not used afterwards.
#[inline]
pub(super) unsafe fn release_many(storage: NonNull<Storage>, windows: u32) {
    let block = storage.cast::<Block>();
    // SAFETY: the block begins with its storage, and lives while it has a window.
    let header = unsafe { block.as_ref() };
    // The common case, all there are, needs no read-modify-write: nobody else can add a window. Acquire pairs with the
    // Release below of a window that another thread dropped before, so its writes happen before the block's reuse.
    if header.windows.load(Ordering::Acquire) == windows
        || header.windows.fetch_sub(windows, Ordering::AcqRel) == windows
    {
        // SAFETY: the last window is gone, so the block is ours.
        unsafe { put(block) };
    }
}

/// # Safety
/// The caller owns `block`, which has no window, and does not use it afterwards.
unsafe fn put(block: NonNull<Block>) {
    // SAFETY: the caller owns the block.
    if unsafe { block.as_ref() }.class == UNPOOLED {
        // SAFETY: the caller owns the block.
        unsafe { free(block) };
    } else {
        depot::put(block);
    }
}
