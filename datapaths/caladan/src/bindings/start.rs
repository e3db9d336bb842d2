//! The start of the runtime.

use super::check;
use super::green_thread::{Work, enter};
use bertha_caladan_sys as sys;
use std::ffi::{CStr, c_int};
use std::io;

/// Starts the runtime, with the calling thread as its first kernel thread and `first` in its first green
/// thread, which must not end before the process. Returns only if the start fails, and may be called once per
/// process.
pub(crate) fn start<W: Work>(config: &CStr, first: Box<W>) -> io::Error {
    // The box is leaked if the call returns: how far the start has come is unknown.
    let argument = Box::into_raw(first);
    // SAFETY: the string is read before this returns, and `enter` takes what `argument` is.
    let result = unsafe { sys::bertha_caladan_start(config.as_ptr(), enter::<W>, argument.cast()) };
    check(result).err().unwrap_or_else(|| io::Error::other("the runtime has ended"))
}

/// Sets the level up to which Caladan writes messages to the standard output.
pub(crate) fn set_log_level(level: u8) {
    // SAFETY: the call sets a number before the runtime starts.
    unsafe { sys::bertha_caladan_set_log_level(c_int::from(level)) };
}

/// Sets the number of received bytes of a TCP connection that may wait.
pub(crate) fn set_window(bytes: u32) {
    // SAFETY: the call sets a number before the runtime starts.
    unsafe { sys::bertha_caladan_set_window(bytes) };
}
