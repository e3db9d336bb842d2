//! The number of allocations.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

thread_local! {
    // The variable is constant and without a destructor: reading it neither allocates nor registers anything.
    static OF_THREAD: Cell<u64> = const { Cell::new(0) };
}
static OF_PROCESS: AtomicU64 = AtomicU64::new(0);
static COUNT_PROCESS: AtomicBool = AtomicBool::new(false);

/// The system's allocator, with a count of the calls that return new memory (reallocations among them).
///
/// The count of a thread is always kept, and costs a few instructions per allocation. The count of the process costs an
/// atomic operation that all threads share, so it is kept only while there is an [`OfProcess`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Counting;

fn count() {
    // A thread that is being torn down may have lost its counter, which can't be read any more either.
    let _ = OF_THREAD.try_with(|calls| calls.set(calls.get() + 1));
    if COUNT_PROCESS.load(Ordering::Relaxed) {
        OF_PROCESS.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: every method passes its arguments unchanged to `System`, which keeps the contract of `GlobalAlloc`,
// and returns what `System` returns. `count` neither allocates nor unwinds: it touches a constant
// thread-local without destructor and two atomics.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc`, which `System.alloc` has too.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc_zeroed`, which `System.alloc_zeroed` has too.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `realloc`, which `System.realloc` has too; `block` came
        // from `System`.
        unsafe { System.realloc(block, layout, new_size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`, which `System.dealloc` has too; `block` came
        // from `System`.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Returns the number of allocations of the calling thread so far.
///
/// # Panics
/// Panics if [`Counting`] is not the program's allocator: a claim that nothing is allocated could not fail.
pub fn of_thread() -> u64 {
    let before = OF_THREAD.get();
    drop(std::hint::black_box(Box::new(0_u8)));
    assert!(OF_THREAD.get() > before, "install `Counting` as the global allocator of this program");
    // The box of this check does not count for the caller.
    OF_THREAD.set(before);
    before
}

/// Runs `work`, and returns its output with the number of allocations of the calling thread meanwhile.
///
/// # Panics
/// Panics as [`of_thread`] does.
pub fn in_thread<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let before = of_thread();
    let result = work();
    (result, OF_THREAD.get() - before)
}

/// A count of the allocations of all threads of the process. A single count may exist at a time.
#[derive(Debug)]
pub struct OfProcess(());

impl OfProcess {
    /// Begins to count.
    ///
    /// # Panics
    /// Panics if [`Counting`] is not the program's allocator, or another thread is counting.
    pub fn from_now() -> Self {
        let _ = of_thread();
        assert!(!COUNT_PROCESS.swap(true, Ordering::SeqCst), "the process is being counted by another");
        OF_PROCESS.store(0, Ordering::SeqCst);
        Self(())
    }

    /// Returns the number of allocations of all threads since.
    pub fn so_far(&self) -> u64 {
        OF_PROCESS.load(Ordering::SeqCst)
    }
}

impl Drop for OfProcess {
    fn drop(&mut self) {
        COUNT_PROCESS.store(false, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    #[global_allocator]
    static ALLOCATOR: Counting = Counting;

    #[test]
    fn a_thread_counts_its_own_allocations_alone() {
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
        let allocate = || (0..100_u64).for_each(|n| drop(black_box(Box::new(n))));
        let all = OfProcess::from_now();
        let own = in_thread(|| {
            std::thread::scope(|scope| {
                scope.spawn(allocate);
            });
        });
        assert!(all.so_far() >= 100 && own.1 < 100, "process {all:?}, thread {own:?}");
    }
}
