//! The only timer of Caladan's that this runtime uses.

use super::Parker;
use bertha_caladan_sys as sys;
use std::ffi::{c_ulong, c_void};
use std::io;
use std::ptr::NonNull;
use std::time::Duration;

/// A timer that wakes a green thread. A single alarm serves all timers, since Caladan has room for 4,096
/// timers on each kernel thread, and ends the process beyond.
#[derive(Debug)]
pub(crate) struct Alarm(NonNull<c_void>);

// SAFETY: any kernel thread may start and cancel a timer, and `&mut self` ensures that a single thread does
// so at a time.
unsafe impl Send for Alarm {}

/// Wakes the parker. Caladan calls it at the deadline, with preemption disabled.
unsafe extern "C" fn ring(argument: c_ulong) {
    // SAFETY: the argument comes from `new`, and lives forever.
    let parker = unsafe { &*(argument as *const Parker) };
    // Timers run on threads of the runtime, so the parked thread is resumed at once.
    let _ = parker.wake();
}

impl Alarm {
    pub(crate) fn new(parker: &'static Parker) -> io::Result<Self> {
        super::check_thread()?;
        // SAFETY: `ring` takes the address of a parker that lives forever.
        let timer = unsafe { sys::bertha_caladan_timer_new(ring, std::ptr::from_ref(parker) as c_ulong) };
        NonNull::new(timer).map(Self).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    /// Wakes the parker after `duration`.
    pub(crate) fn set(&mut self, duration: Duration) {
        // SAFETY: the function reads the clock.
        let now = unsafe { sys::bertha_caladan_microtime() };
        let micros = u64::try_from(duration.as_nanos().div_ceil(1000)).unwrap_or(u64::MAX);
        // SAFETY: the timer is not armed: it never was, or `cancel` was called since.
        unsafe { sys::bertha_caladan_timer_start(self.0.as_ptr(), now.saturating_add(micros)) };
    }

    /// Stops the timer. The call waits until the timer no longer runs, so the caller must hold no lock that a
    /// wake takes.
    pub(crate) fn cancel(&mut self) {
        // SAFETY: the timer is Caladan's, made by `new`.
        unsafe { sys::bertha_caladan_timer_cancel(self.0.as_ptr()) };
    }
}
