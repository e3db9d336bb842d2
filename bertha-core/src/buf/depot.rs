//! Where free blocks wait: a list per thread, and a shared depot that evens them out.
//!
//! A take or put touches only the thread's own list. Where one thread takes what another puts (a receiver that hands
//! messages to a worker), lists travel through the depot thirty-two at a time, so its lock is taken once in
//! thirty-two messages and never on a path where one thread does both.

use super::block::{self, Block, CLASS_COUNT};
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::Mutex;

/// How many blocks travel together.
const MAGAZINE: u32 = 32;

/// How many magazines of a class the depot keeps; what is more goes back to the allocator.
const DEPOT: usize = 64;

/// A chain of free blocks of one class, linked through `Block::next`.
#[derive(Default)]
struct Chain {
    first: Cell<Option<NonNull<Block>>>,
    len: Cell<u32>,
}

// SAFETY: a chain owns its blocks, which nobody else refers to; moving it moves them.
unsafe impl Send for Chain {}

impl Chain {
    #[inline]
    fn push(&self, block: NonNull<Block>) {
        // SAFETY: the block is free, so whoever pushes it owns it.
        unsafe { block.as_ref() }.next.set(self.first.get());
        self.first.set(Some(block));
        self.len.set(self.len.get() + 1);
    }

    #[inline]
    fn pop(&self) -> Option<NonNull<Block>> {
        let block = self.first.get()?;
        // SAFETY: the chain owns the block.
        self.first.set(unsafe { block.as_ref() }.next.get());
        self.len.set(self.len.get() - 1);
        Some(block)
    }
}

impl Drop for Chain {
    fn drop(&mut self) {
        while let Some(block) = self.pop() {
            // SAFETY: blocks in a chain come from `allocate`, have no window, and this was the last reference.
            unsafe { block::free(block) };
        }
    }
}

/// A thread's own free blocks: one chain that it works on and one that is full or empty, so that taking and putting
/// at the edge of a magazine does not reach the depot each time.
#[derive(Default)]
struct Local {
    current: [Chain; CLASS_COUNT],
    spare: [Chain; CLASS_COUNT],
}

thread_local! {
    static LOCAL: Local = Local::default();
}

static SHARED: [Mutex<Vec<Chain>>; CLASS_COUNT] = [const { Mutex::new(Vec::new()) }; CLASS_COUNT];

/// A free block of `class`, if there is one.
#[inline]
pub(super) fn take(class: usize) -> Option<NonNull<Block>> {
    // A thread that is ending has no list any more; it allocates.
    LOCAL.try_with(|local| local.current[class].pop().or_else(|| local.refill(class))).ok().flatten()
}

/// Keeps `block` for later. The caller owns it; it has no window.
#[inline]
pub(super) fn put(block: NonNull<Block>) {
    // SAFETY: the caller owns the block.
    let class = usize::from(unsafe { block.as_ref() }.class);
    let kept = LOCAL.try_with(|local| {
        local.current[class].push(block);
        if local.current[class].len.get() >= MAGAZINE {
            local.unload(class);
        }
    });
    if kept.is_err() {
        // SAFETY: the caller owns the block, and gave it to us.
        unsafe { block::free(block) };
    }
}

impl Local {
    #[cold]
    fn refill(&self, class: usize) -> Option<NonNull<Block>> {
        let (current, spare) = (&self.current[class], &self.spare[class]);
        if spare.first.get().is_none() {
            // A poisoned lock means that a thread died between two pushes; the list is whole all the same.
            let chain = SHARED[class].lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop()?;
            spare.first.swap(&chain.first);
            spare.len.swap(&chain.len);
        }
        current.first.swap(&spare.first);
        current.len.swap(&spare.len);
        current.pop()
    }

    #[cold]
    fn unload(&self, class: usize) {
        let (current, spare) = (&self.current[class], &self.spare[class]);
        if spare.first.get().is_some() {
            let full = Chain::default();
            full.first.swap(&spare.first);
            full.len.swap(&spare.len);
            let mut shared = SHARED[class].lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            if shared.len() < DEPOT {
                shared.push(full);
            }
        }
        current.first.swap(&spare.first);
        current.len.swap(&spare.len);
    }
}
