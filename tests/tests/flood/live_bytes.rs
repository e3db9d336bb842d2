//! How many bytes a thread has allocated and not freed. Each test runs server and clients on one thread, so that what
//! the test harness does meanwhile is not counted.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError};

thread_local! {
    // Constant and without a destructor: reading it neither allocates nor registers anything.
    static LIVE: Cell<i64> = const { Cell::new(0) };
}
static ALONE: Mutex<()> = Mutex::new(());

fn add(bytes: i64) {
    // A thread that is being torn down may have lost its count; nobody can read it any more either.
    let _ = LIVE.try_with(|live| live.set(live.get() + bytes));
}

/// The system's allocator, which keeps the sum of the blocks in use.
pub(crate) struct Tally;

// SAFETY: every method hands its arguments unchanged to `System`, which keeps the contract of `GlobalAlloc`, and
// returns what `System` returns. `add` neither allocates nor unwinds: it touches a constant
// thread-local without destructor.
unsafe impl GlobalAlloc for Tally {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size() as i64);
        // SAFETY: our caller keeps the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        add(new_size as i64 - layout.size() as i64);
        // SAFETY: our caller keeps the contract of `realloc`, which is the same.
        unsafe { System.realloc(block, layout, new_size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        add(-(layout.size() as i64));
        // SAFETY: our caller keeps the contract of `dealloc`, which is the same.
        unsafe { System.dealloc(block, layout) }
    }
}

/// The count, for one test at a time: tests share the pools of buffers, and what one leaves there another frees.
pub(crate) struct Meter(#[expect(dead_code, reason = "held, not read")] MutexGuard<'static, ()>);

impl Meter {
    /// Waits until no other test allocates.
    pub(crate) fn alone() -> Self {
        Self(ALONE.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The bytes in use now, of this thread.
    pub(crate) fn live(&self) -> i64 {
        LIVE.get()
    }
}

#[test]
fn the_meter_sees_what_is_kept() {
    let meter = Meter::alone();
    let before = meter.live();
    let kept = std::hint::black_box(vec![0u8; 1_000_000]);
    assert!(meter.live() - before >= 1_000_000);
    drop(kept);
    assert!(meter.live() - before < 1_000_000);
}
