//! A global allocator that counts.
//!
//! A program counts once it installs [`Counting`]:
//!
//! ```no_run
//! #[global_allocator]
//! static ALLOCATOR: bertha_bench::allocations::Counting = bertha_bench::allocations::Counting;
//! ```
//!
//! The count of a thread is always kept, and costs a few instructions per allocation. The count of the process costs
//! an atomic operation that all threads share, so it is kept only inside [`in_process`].

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

thread_local! {
    // Constant and without a destructor: reading it neither allocates nor registers anything.
    static OF_THREAD: Cell<u64> = const { Cell::new(0) };
}
static OF_PROCESS: AtomicU64 = AtomicU64::new(0);
static COUNT_PROCESS: AtomicBool = AtomicBool::new(false);

/// The system's allocator, with a count of the calls that return new memory (reallocations among them).
#[derive(Clone, Copy, Debug, Default)]
pub struct Counting;

fn count() {
    // A thread that is being torn down may have lost its counter; nobody can read it any more either.
    let _ = OF_THREAD.try_with(|calls| calls.set(calls.get() + 1));
    if COUNT_PROCESS.load(Ordering::Relaxed) {
        OF_PROCESS.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: every method hands its arguments unchanged to `System`, which keeps the contract of `GlobalAlloc`, and
// returns what `System` returns. `count` neither allocates nor unwinds: it touches a constant thread-local without
// destructor and two atomics.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: our caller promises that `layout` has a non-zero size, which is all that `System.alloc` asks.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: our caller promises that `layout` has a non-zero size, which is all that it asks.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count();
        // SAFETY: our caller promises that this allocator returned `block` for `layout`, hence that `System` did,
        // and that `new_size` is non-zero and does not overflow when rounded up to the alignment.
        unsafe { System.realloc(block, layout, new_size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: our caller promises that this allocator returned `block` for `layout`, hence that `System` did.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Runs `work` and says how often the calling thread allocated meanwhile.
///
/// Zero when [`Counting`] is not the program's allocator: check with [`is_installed`].
pub fn in_thread<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let before = OF_THREAD.get();
    let result = work();
    (result, OF_THREAD.get() - before)
}

/// Runs `work` and says how often all threads of the process allocated meanwhile.
///
/// One caller at a time: a second one at the same time would stop the count of the first.
pub fn in_process<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let before = OF_PROCESS.load(Ordering::Relaxed);
    COUNT_PROCESS.store(true, Ordering::SeqCst);
    let result = work();
    COUNT_PROCESS.store(false, Ordering::SeqCst);
    (result, OF_PROCESS.load(Ordering::Relaxed) - before)
}

/// Whether allocations of this program are counted at all.
pub fn is_installed() -> bool {
    in_thread(|| drop(std::hint::black_box(Box::new(0u8)))).1 > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    #[global_allocator]
    static ALLOCATOR: Counting = Counting;

    #[test]
    fn a_thread_counts_its_own_allocations_alone() {
        assert!(is_installed());
        assert_eq!(in_thread(|| black_box(7)).1, 0);
        let (vector, calls) = in_thread(|| {
            let mut vector: Vec<u8> = black_box(Vec::with_capacity(10));
            vector.reserve_exact(1000);
            vector
        });
        assert_eq!((vector.len(), calls), (0, 2), "one allocation and one reallocation");
        assert_eq!(in_thread(|| drop(black_box(vector))).1, 0, "freeing is not counted");
    }

    #[test]
    fn the_process_counts_other_threads() {
        let allocate = || (0..100u64).for_each(|n| drop(black_box(Box::new(n))));
        let (own, all) = in_process(|| {
            in_thread(|| {
                std::thread::scope(|scope| {
                    scope.spawn(allocate);
                })
            })
            .1
        });
        assert!(all >= 100 && own < 100, "process {all}, thread {own}");
    }
}
