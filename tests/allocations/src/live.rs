//! The amount of memory that is kept.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    // The variable is constant and without a destructor: reading it neither allocates nor registers anything.
    static LIVE: Cell<i64> = const { Cell::new(0) };
}

/// The system's allocator, which keeps the sum of the blocks in use, by the thread that allocated them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Live;

/// Returns the number of bytes that the calling thread has allocated and not freed. The number is negative if
/// the thread has freed more bytes of other threads.
pub fn live_bytes() -> i64 {
    LIVE.get()
}

fn add(bytes: i64) {
    // A thread that is being torn down may have lost its count, which can't be read any more either.
    let _ = LIVE.try_with(|live| live.set(live.get() + bytes));
}

// SAFETY: every method passes its arguments unchanged to `System`, which keeps the contract of `GlobalAlloc`,
// and returns what `System` returns. `add` neither allocates nor unwinds: it touches a constant thread-local
// without destructor.
unsafe impl GlobalAlloc for Live {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size() as i64);
        // SAFETY: the caller keeps the contract of `alloc`, which `System.alloc` has too.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size() as i64);
        // SAFETY: the caller keeps the contract of `alloc_zeroed`, which `System.alloc_zeroed` has too.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        add(new_size as i64 - layout.size() as i64);
        // SAFETY: the caller keeps the contract of `realloc`, which `System.realloc` has too; `block` came
        // from `System`.
        unsafe { System.realloc(block, layout, new_size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        add(-(layout.size() as i64));
        // SAFETY: the caller keeps the contract of `dealloc`, which `System.dealloc` has too; `block` came
        // from `System`.
        unsafe { System.dealloc(block, layout) }
    }
}
