//! Starting the runtime.

use super::check;
use super::green_thread::{Work, enter};
use bertha_caladan_sys as sys;
use std::ffi::{CStr, c_int};
use std::io;

/// Starts the runtime, with the calling thread as its first kernel thread and `first` in its first green thread, which must not end before the
/// process. Returns if that fails alone. Once per process.
pub(crate) fn start<W: Work>(config: &CStr, first: Box<W>) -> io::Error {
    // Leaked if this returns: nobody knows how far the start has come.
    let argument = Box::into_raw(first);
    // SAFETY: the string is read before this returns, and `enter` takes what `argument` is.
    let result = unsafe { sys::bertha_start(config.as_ptr(), enter::<W>, argument.cast()) };
    check(result).err().unwrap_or_else(|| io::Error::other("the runtime has ended"))
}

/// Up to which level Caladan writes messages to the standard output.
pub(crate) fn set_log_level(level: u8) {
    // SAFETY: a number, before the runtime starts.
    unsafe { sys::bertha_set_log_level(c_int::from(level)) };
}

/// How many received bytes of a TCP connection wait at most.
pub(crate) fn set_window(bytes: u32) {
    // SAFETY: a number, before the runtime starts.
    unsafe { sys::bertha_set_window(bytes) };
}
