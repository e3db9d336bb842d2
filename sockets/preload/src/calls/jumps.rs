//! Jumps of a program out of a handler of a signal, which may have interrupted a call of this library.
//!
//! A program may leave a `read` so, as one that has no other time-out does: POSIX has `read` among the calls that a handler may interrupt and
//! not return to. What the call had begun is then given back: its locks, and its count of reads that wait. A handler that jumps within itself,
//! and then returns to the call, gives them back too early, which nothing here can know: another thread may use the same direction of this socket
//! until the call is over. The signal has to come while the call has a lock, about a hundred nanoseconds.

use crate::{lock, real, waiting};
use libc::{c_int, c_void};

fn leave_calls() {
    lock::give_all_back();
    waiting::give_up();
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn longjmp(to: *mut c_void, value: c_int) -> ! {
    leave_calls();
    // SAFETY: the arguments are the program's.
    unsafe { real::longjmp(to, value) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn _longjmp(to: *mut c_void, value: c_int) -> ! {
    leave_calls();
    // SAFETY: the arguments are the program's.
    unsafe { real::_longjmp(to, value) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn siglongjmp(to: *mut c_void, value: c_int) -> ! {
    leave_calls();
    // SAFETY: the arguments are the program's.
    unsafe { real::siglongjmp(to, value) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __longjmp_chk(to: *mut c_void, value: c_int) -> ! {
    leave_calls();
    // SAFETY: the arguments are the program's.
    unsafe { real::__longjmp_chk(to, value) }
}
