//! Where a green thread waits.

use bertha_caladan_sys as sys;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Where one green thread, always the same, waits to be woken. Waking may come at any time, from anywhere; it is not counted.
#[derive(Debug)]
pub(crate) struct Parker {
    /// Null between polls; [`WOKEN`]; or the green thread, while it is parked.
    state: AtomicPtr<c_void>,
}

/// No thread is there: their structures are aligned.
const WOKEN: *mut c_void = ptr::without_provenance_mut(1);

/// A green thread that was parked. The owner has to resume it.
#[derive(Debug)]
pub(crate) struct Parked(*mut c_void);

// SAFETY: the value is the right to make one thread ready, which any kernel thread of the runtime may do. It is not dereferenced.
unsafe impl Send for Parked {}

impl Parker {
    pub(crate) const fn new() -> Self {
        Self { state: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Waits until woken, or for one turn of the scheduler if it has been since the last time. To be called by the green thread itself, in a
    /// frame that touches no thread-local variable.
    #[inline(never)]
    pub(crate) fn park(&self) {
        // SAFETY: Rust's code on the runtime's threads runs in green threads, except for callbacks, which do not park.
        let this = unsafe { sys::bertha_thread_self() };
        // Acquire and release in all of these: what a waker did before is seen by the poll after, and the thread's structure by the waker.
        if self.state.compare_exchange(ptr::null_mut(), this, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            // SAFETY: preemption is disabled once, by the start of the thread or the end of this function. A waker that comes before
            // the thread has stopped waits for that: `thread_ready` only puts it in a queue, and a thread's registers are used once saved.
            unsafe { sys::bertha_thread_park() };
        } else {
            // SAFETY: preemption is disabled once, so this enables it.
            unsafe { sys::bertha_preempt_enable() };
            // SAFETY: preemption is enabled, and no lock is held across a suspension point.
            unsafe { sys::bertha_thread_yield() };
        }
        // SAFETY: this is a green thread.
        unsafe { sys::bertha_preempt_disable() };
        // A wake that came since is for the poll that follows.
        self.state.swap(ptr::null_mut(), Ordering::AcqRel);
    }

    /// Wakes the thread. A caller that is no thread of the runtime may get one to have resumed by such a thread.
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
    /// Has the thread run again. By a thread of the runtime.
    pub(crate) fn resume(self) {
        debug_assert!(super::on_caladan());
        // SAFETY: the thread parked, and it is made ready once: the one who took it out of the parker does so, and consumes this. A thread
        // that is parked has not ended.
        unsafe { sys::bertha_thread_ready(self.0) };
    }
}
