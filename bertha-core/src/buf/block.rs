//! Pooled storage for buffers that no datapath owns.

use super::depot;
use super::raw::{RawBuf, Vtable};
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

/// The largest block: keeps every length in 32 bits with room to spare.
pub(super) const MOST: usize = 1 << 30;

/// The header of a block; its storage follows at once.
#[repr(C, align(16))]
pub(super) struct Block {
    /// How many windows into the storage exist. Zero while the block lies in the depot.
    windows: AtomicU32,
    capacity: u32,
    pub(super) class: u8,
    /// The next block in a free list; only its owner, the list, touches it.
    pub(super) next: Cell<Option<NonNull<Block>>>,
}

static VTABLE: Vtable = Vtable { share, release };

/// A block with a window of `len` bytes behind `headroom`. The caller has checked that both together are at most
/// `MOST`.
pub(super) fn take(len: usize, headroom: usize) -> RawBuf {
    let wanted = (len + headroom) as u32;
    let class = CLASSES.iter().position(|&size| wanted <= size);
    let block = class.and_then(depot::take).unwrap_or_else(|| allocate(class, wanted));
    // SAFETY: the block came from the depot or the allocator, and is ours alone.
    let header = unsafe { block.as_ref() };
    header.windows.store(1, Ordering::Relaxed);
    // SAFETY: the storage follows the header in the same allocation.
    let storage = unsafe { block.add(1) }.cast::<u8>();
    // SAFETY: the storage is at least `headroom + len` bytes long.
    let data = unsafe { storage.add(headroom) };
    RawBuf {
        data,
        len: len as u32,
        headroom: headroom as u32,
        tailroom: header.capacity - wanted,
        owner: block.cast(),
        vtable: &VTABLE,
    }
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
    let header = Block {
        windows: AtomicU32::new(0),
        capacity,
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
    let layout = layout(unsafe { block.as_ref() }.capacity);
    // SAFETY: it was allocated with this layout, and `Block` has nothing to drop.
    unsafe { dealloc(block.as_ptr().cast(), layout) };
}

/// # Safety
/// `owner` is a block with at least one window.
unsafe fn share(owner: NonNull<()>) {
    // SAFETY: the block lives while it has a window.
    let header = unsafe { owner.cast::<Block>().as_ref() };
    // Relaxed as in `Arc::clone`: the new window is made from an existing one.
    header.windows.fetch_add(1, Ordering::Relaxed);
}

/// # Safety
/// `owner` is a block with at least one window, and the caller's window is not used afterwards.
unsafe fn release(owner: NonNull<()>) {
    let block = owner.cast::<Block>();
    // SAFETY: the block lives while it has a window.
    let header = unsafe { block.as_ref() };
    // The common case, one window, needs no read-modify-write: nobody else can add a window. Acquire pairs with the
    // Release below of a window that another thread dropped before, so its writes happen before the block's reuse.
    if header.windows.load(Ordering::Acquire) != 1 && header.windows.fetch_sub(1, Ordering::AcqRel) != 1 {
        return;
    }
    if header.class == UNPOOLED {
        // SAFETY: the last window is gone, so the block is ours.
        unsafe { free(block) };
    } else {
        depot::put(block);
    }
}
