//! A block: memory for buffers in one allocation with its header.

use super::storage::{Storage, Vtable};
use super::window::MAX_STORAGE;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;

/// Pooled sizes in bytes: a small message, a full datagram, a jumbo frame, the largest UDP datagram or a
/// burst that the kernel coalesced.
const CLASSES: [u32; 4] = [512, 2048, 9216, 65_536 + 256];

/// The number of pooled sizes.
pub(super) const CLASS_COUNT: usize = CLASSES.len();

/// The class of a block that is not pooled.
const UNPOOLED: u8 = CLASSES.len() as u8;

/// The header of a block; its memory follows at once.
#[repr(C, align(16))]
pub(super) struct Block {
    /// First field, so that its address is the address of the block.
    storage: Storage,
    /// The number of windows into the storage. Zero while the block is free.
    pub(super) windows: AtomicU32,
    class: u8,
    /// The next block in a free list. Touched by the owner of a free block alone.
    pub(super) next: Cell<Option<NonNull<Block>>>,
}

impl Block {
    /// Returns the smallest class that holds `len` bytes.
    #[inline]
    pub(super) fn class_for(len: u32) -> Option<usize> {
        CLASSES.iter().position(|&size| len <= size)
    }

    /// Returns the class, or `None` if the block is not pooled.
    #[inline]
    pub(super) fn class(&self) -> Option<usize> {
        (self.class != UNPOOLED).then_some(self.class.into())
    }

    /// Returns the block that begins with `storage`.
    ///
    /// # Safety
    /// `storage` belongs to a block, and the block is not freed for as long as the reference is used.
    #[inline]
    pub(super) unsafe fn of<'a>(storage: NonNull<Storage>) -> &'a Self {
        // SAFETY: `storage` is the first field of a `repr(C)` struct, so it has the block's address; `allocate` gives out
        // pointers to whole allocations. The header was initialised there, and no `&mut` to it ever exists.
        unsafe { storage.cast().as_ref() }
    }

    /// Allocates a zeroed block that holds at least `len` bytes: as many as its class has, or exactly `len`
    /// without a class. `len` is at most [`MAX_STORAGE`]. The block belongs to the caller alone and has no
    /// window.
    #[cold]
    pub(super) fn allocate(class: Option<usize>, len: u32, vtable: &'static Vtable) -> NonNull<Self> {
        let capacity = class.map_or(len, |class| CLASSES[class]);
        let layout = layout(capacity);
        // SAFETY: the layout's size is at least that of the header, which is not zero.
        let start = unsafe { alloc_zeroed(layout) };
        let Some(block) = NonNull::new(start.cast::<Self>()) else { handle_alloc_error(layout) };
        // SAFETY: the allocation is one header and `capacity` bytes long, so the end of the header lies within it.
        let memory = unsafe { block.add(1) }.cast::<u8>();
        let header = Self {
            storage: Storage { memory, len: capacity, vtable },
            windows: AtomicU32::new(0),
            class: class.map_or(UNPOOLED, |class| class as u8),
            next: Cell::new(None),
        };
        // SAFETY: the allocation has the header's alignment and at least its size, and no other pointer to it exists.
        unsafe { block.write(header) };
        block
    }

    /// Returns a block to the allocator.
    ///
    /// # Safety
    /// `block` came from [`allocate`](Self::allocate), has no window, and is not used afterwards.
    pub(super) unsafe fn free(block: NonNull<Self>) {
        // SAFETY: the block is allocated until the next line, and its header initialised.
        let layout = layout(unsafe { block.as_ref() }.storage.len);
        // SAFETY: `allocate` used the layout for the same capacity, which `Storage::len` keeps. No field of `Block` has a
        // destructor.
        unsafe { dealloc(block.as_ptr().cast(), layout) };
    }
}

fn layout(capacity: u32) -> Layout {
    debug_assert!(capacity as usize <= MAX_STORAGE);
    let size = size_of::<Block>() + capacity as usize;
    match Layout::from_size_align(size, align_of::<Block>()) {
        Ok(layout) => layout,
        // A `u32` and a header are far from the limit, `isize::MAX`.
        Err(_) => unreachable!("a block of {size} bytes has a layout"),
    }
}
