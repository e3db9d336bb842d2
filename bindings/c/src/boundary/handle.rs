//! Functions for all handles and all threads.

use super::guard::guarded;
use super::pointers::Out;
use crate::code::Code;
use crate::failure;
use crate::object::{self, Object};
use std::ffi::{c_char, c_int};

/// Returns the version of the library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn bertha_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Returns a few words for a code, such as "timed out".
#[unsafe(no_mangle)]
pub extern "C" fn bertha_code_name(code: c_int) -> *const c_char {
    Code::name_of(code).as_ptr()
}

/// Returns the text of the latest error of this thread, which is there until the next error of this thread.
#[unsafe(no_mangle)]
pub extern "C" fn bertha_error_message() -> *const c_char {
    failure::latest_text()
}

/// Returns true if the connection has ended with the latest error of this thread: then every later call fails at once, but
/// calls that receive messages which had arrived before.
#[unsafe(no_mangle)]
pub extern "C" fn bertha_error_ends_connection() -> bool {
    failure::latest_ends_connection()
}

/// Returns true if the call that failed with the latest error of this thread may have run at the service, or a part of it.
#[unsafe(no_mangle)]
pub extern "C" fn bertha_error_may_have_run() -> bool {
    failure::latest_may_have_run()
}

/// Releases what a handle names, of any kind. Calls of other threads that wait for it end with BERTHA_BAD_HANDLE. A
/// connection that was not closed is cut: the peer sees BERTHA_RESET. A call that was made is cancelled, and one that has arrived
/// fails. A service ends at once, but for callbacks that run: bertha_close waits for them.
#[unsafe(no_mangle)]
pub extern "C" fn bertha_release(handle: u64) -> c_int {
    guarded(|| object::release(handle))
}

/// Writes a descriptor for poll and epoll, which is readable when a call with a time of zero may go on: to receive, accept
/// or finish, to send after BERTHA_WOULD_BLOCK, and to see the end of a drain, close or upgrade.
///
/// The descriptor is level-triggered: it stays readable until a call has found nothing. It may be readable in vain. It
/// belongs to the handle, which closes it when it is released; read, write or close it never.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_descriptor(handle: u64, descriptor: *mut c_int) -> c_int {
    guarded(|| {
        // SAFETY: the caller's promise.
        let mut descriptor = unsafe { Out::new(descriptor) }?;
        let (object, readiness) = object::readiness(handle)?;
        descriptor.write(0, readiness.descriptor()?);
        match object {
            Object::Connection(connection) => connection.receiving.watch().map(drop),
            Object::Arrived(call) => call.watch(),
            _ => Ok(()),
        }
    })
}
