//! Free blocks: a list per thread, and a global free list that evens them out.
//!
//! A take or put touches only the thread's own list. Where one thread takes the blocks that another puts (a receiver
//! that hands messages to a worker), they travel through the global list in magazines of thirty-two, so its lock is taken
//! once in thirty-two messages and never on a path where one thread does both.

use super::block::{Block, CLASS_COUNT};
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

/// The number of blocks that travel together.
const MAGAZINE: u32 = 32;

/// The number of magazines of a class in the global list; more go back to the allocator.
const MAX_MAGAZINES: usize = 64;

/// A chain of free blocks of one class, linked through `Block::next`. Each came from `Block::allocate`, has no window, and
/// is referred to by the chain alone.
#[derive(Default)]
struct Chain {
    first: Cell<Option<NonNull<Block>>>,
    len: Cell<u32>,
}

// SAFETY: a chain is the only one to refer to its blocks, as `push` demands, so moving it to another thread moves them
// with it. The blocks' memory and counts are bound to no thread.
unsafe impl Send for Chain {}

impl Chain {
    /// # Safety
    /// `block` came from `Block::allocate`, has no window, and is not used by the caller afterwards.
    #[inline]
    unsafe fn push(&self, block: NonNull<Block>) {
        // SAFETY: the block is allocated, and the caller was the only one to refer to it.
        unsafe { block.as_ref() }.next.set(self.first.get());
        self.first.set(Some(block));
        self.len.set(self.len.get() + 1);
    }

    /// Removes a block, which belongs to the caller alone from now on.
    #[inline]
    fn pop(&self) -> Option<NonNull<Block>> {
        let block = self.first.get()?;
        // SAFETY: a block in the chain is allocated, and only the chain refers to it.
        self.first.set(unsafe { block.as_ref() }.next.get());
        self.len.set(self.len.get() - 1);
        Some(block)
    }

    fn swap(&self, other: &Self) {
        self.first.swap(&other.first);
        self.len.swap(&other.len);
    }
}

impl Drop for Chain {
    fn drop(&mut self) {
        while let Some(block) = self.pop() {
            // SAFETY: `push` demands that blocks come from `allocate` and have no window; `pop` gave out the only
            // reference.
            unsafe { Block::free(block) };
        }
    }
}

/// A thread's own free blocks: one chain that the thread works on and one chain that is full or empty, so
/// that taking and putting at the edge of a magazine does not reach the global list each time.
#[derive(Default)]
struct Local {
    current: [Chain; CLASS_COUNT],
    spare: [Chain; CLASS_COUNT],
}

thread_local! {
    static LOCAL: Local = Local::default();
}

/// Locks of the standard library, which wait without memory of their own: a list is used while a thread ends, when variables of
/// the thread may be gone, and on the path of messages, which must not allocate.
static GLOBAL: [Mutex<Vec<Chain>>; CLASS_COUNT] = [const { Mutex::new(Vec::new()) }; CLASS_COUNT];

/// Returns a free block of `class`, which belongs to the caller alone, or `None` if there is none.
#[inline]
pub(super) fn take(class: usize) -> Option<NonNull<Block>> {
    // A thread that is ending has no list any more; it allocates.
    LOCAL.try_with(|local| local.current[class].pop().or_else(|| local.refill(class))).ok().flatten()
}

/// Keeps `block`, which is of `class`, for later.
///
/// # Safety
/// `block` came from `Block::allocate`, has no window, and is not used by the caller afterwards.
#[inline]
pub(super) unsafe fn put(class: usize, block: NonNull<Block>) {
    let kept = LOCAL.try_with(|local| {
        // SAFETY: the caller's promise is that of `push`.
        unsafe { local.current[class].push(block) };
        if local.current[class].len.get() >= MAGAZINE {
            local.unload(class);
        }
    });
    if kept.is_err() {
        // SAFETY: the closure did not run, so the block is in no chain; the rest is the caller's promise.
        unsafe { Block::free(block) };
    }
}

impl Local {
    #[cold]
    fn refill(&self, class: usize) -> Option<NonNull<Block>> {
        let current = &self.current[class];
        let spare = &self.spare[class];
        if spare.first.get().is_none() {
            // A poisoned lock means that a thread died between two pushes; the list is still consistent.
            let chain = GLOBAL[class].lock().unwrap_or_else(PoisonError::into_inner).pop()?;
            spare.swap(&chain);
        }
        current.swap(spare);
        current.pop()
    }

    #[cold]
    fn unload(&self, class: usize) {
        let current = &self.current[class];
        let spare = &self.spare[class];
        if spare.first.get().is_some() {
            let full = Chain::default();
            full.swap(spare);
            let mut global = GLOBAL[class].lock().unwrap_or_else(PoisonError::into_inner);
            if global.len() < MAX_MAGAZINES {
                global.push(full);
            }
        }
        current.swap(spare);
    }
}
