//! The place in which a green thread waits.

use bertha_caladan_sys as sys;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The place in which a green thread, always the same, waits to be woken. A wake may come at any time, from
/// any thread; wakes are not counted.
#[derive(Debug)]
pub(crate) struct Parker {
    /// Null between polls; [`WOKEN`]; or the green thread, while it is parked.
    state: AtomicPtr<c_void>,
}

/// The mark of a wake. No thread has this address: the structures of threads are aligned.
const WOKEN: *mut c_void = ptr::without_provenance_mut(1);

/// A green thread that was parked. The owner of the value has to resume it.
#[derive(Debug)]
pub(crate) struct Parked(*mut c_void);

// SAFETY: the value is the right to make a thread ready, which any kernel thread of the runtime may do. The
// pointer is not dereferenced.
unsafe impl Send for Parked {}

impl Parker {
    pub(crate) const fn new() -> Self {
        Self { state: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Waits until woken, or for a single turn of the scheduler if a wake has come since the last wait. The
    /// green thread itself must call it, in a frame that touches no thread-local variable.
    #[inline(never)]
    pub(crate) fn park(&self) {
        // SAFETY: Rust's code on the runtime's threads runs in green threads, except for callbacks, which do not park.
        let this = unsafe { sys::bertha_caladan_thread_self() };
        // All accesses acquire and release: the poll after a wake sees what the waker did before it, and the
        // waker sees the thread's structure.
        if self.state.compare_exchange(ptr::null_mut(), this, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            // SAFETY: preemption is disabled once, by the start of the thread or the end of this function. A
            // waker that comes before the thread has stopped waits for it: `thread_ready` only puts the
            // thread into a queue, and its registers are used once saved.
            unsafe { sys::bertha_caladan_thread_park() };
        } else {
            // SAFETY: preemption is disabled once, so this enables it.
            unsafe { sys::bertha_caladan_preempt_enable() };
            // SAFETY: preemption is enabled, and no lock is held across a suspension point.
            unsafe { sys::bertha_caladan_thread_yield() };
        }
        // SAFETY: this is a green thread.
        unsafe { sys::bertha_caladan_preempt_disable() };
        // A wake that came since is meant for the poll that follows.
        self.state.swap(ptr::null_mut(), Ordering::AcqRel);
    }

    /// Wakes the thread. A caller outside of the runtime may get a parked thread, which a thread of the
    /// runtime has to resume.
    #[inline]
    pub(crate) fn wake(&self) -> Option<Parked> {
        let before = self.state.swap(WOKEN, Ordering::AcqRel);
        if before.is_null() || before == WOKEN {
            return None;
        }
        let parked = Parked(before);
        if super::on_caladan() {
            parked.resume();
            return None;
        }
        Some(parked)
    }
}

impl Parked {
    /// Resumes the thread. The caller must be a thread of the runtime.
    pub(crate) fn resume(self) {
        debug_assert!(super::on_caladan());
        // SAFETY: the thread is parked, and it is made ready once: the caller that took it out of the parker
        // does so, and consumes the value. A parked thread has not ended.
        unsafe { sys::bertha_caladan_thread_ready(self.0) };
    }
}
