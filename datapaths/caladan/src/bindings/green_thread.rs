//! The start of green threads.

use super::check;
use bertha_caladan_sys as sys;
use std::ffi::c_void;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The work of a green thread.
pub(crate) trait Work: Send + 'static {
    /// Does the work. This frame may [park](super::Parker::park), so it touches no thread-local variable and
    /// no memory, except in functions that it calls by [`isolated`].
    fn run(self: Box<Self>);
}

/// Starts a green thread. The caller must be a thread of the runtime.
///
/// # Errors
/// Fails if there is no memory for the stack of the thread; `work` is dropped then.
pub(crate) fn spawn<W: Work>(work: Box<W>) -> io::Result<()> {
    super::check_thread()?;
    let argument = Box::into_raw(work);
    // SAFETY: `enter` takes what `argument` is, and the thread is the only one to get it.
    let result = check(unsafe { sys::bertha_caladan_thread_spawn(enter::<W>, argument.cast()) });
    if result.is_err() {
        // SAFETY: no thread was started, so the box still belongs to this call.
        drop(unsafe { Box::from_raw(argument) });
    }
    result
}

/// The first function of a green thread, whose argument is a box of `W`.
pub(super) unsafe extern "C" fn enter<W: Work>(argument: *mut c_void) {
    // SAFETY: this is a green thread, in which preemption is enabled so far.
    unsafe { sys::bertha_caladan_preempt_disable() };
    // SAFETY: the thread was started with such a box, for itself alone.
    let work = unsafe { Box::from_raw(argument.cast::<W>()) };
    // A panic must not leave the thread, whose stack ends here. Tasks catch their own panics; this catch is
    // for defects in the runtime itself.
    if catch_unwind(AssertUnwindSafe(|| work.run())).is_err() {
        std::process::abort();
    }
    // SAFETY: preemption was disabled once, above or by the last `park`. No Rust runs after this: nothing is
    // left to drop here.
    unsafe { sys::bertha_caladan_preempt_enable() };
}

/// Calls `action` in a frame of its own, which ends before the thread can be suspended: so `action` may use
/// thread-local variables.
#[inline(never)]
pub(crate) fn isolated<T>(action: impl FnOnce() -> T) -> T {
    action()
}
