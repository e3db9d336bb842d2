//! Answers to calls that have arrived.

use super::call::Entry;
use super::guard::guarded;
use super::pointers::{Memory, Out, bytes, one, text};
use crate::code::Code;
use crate::failure::Failure;
use crate::object::{self, Object};
use bertha::rpc;
use std::ffi::{c_char, c_int, c_void};
use std::time::Instant;

/// A call that has arrived.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    /// The place of the method in the list of the service.
    pub method: usize,
    /// The request, which lies there until the call is answered or released.
    pub data: *const u8,
    /// Number of bytes of the request.
    pub length: usize,
    /// The milliseconds until the client gives up, or -1 without a deadline.
    pub milliseconds: i64,
    /// True once nobody waits for the answer: the client has cancelled the call or is gone, or the deadline has passed.
    pub is_cancelled: bool,
}

/// Writes what a call is that has arrived. Its descriptor is readable once it is cancelled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_call_arrival(call: u64, arrival: *mut Arrival) -> c_int {
    guarded(|| {
        // SAFETY: the caller's promise.
        let mut out = unsafe { Out::new(arrival) }?;
        let arrived = object::arrived(call)?;
        let request = arrived.call.request();
        let left = arrived.call.context().deadline().map(|until| until.duration_since(Instant::now()));
        let milliseconds = left.map_or(-1, |left| i64::try_from(left.as_millis()).unwrap_or(i64::MAX));
        let (data, length) = (request.as_ptr(), request.len());
        let is_cancelled = arrived.call.is_cancelled();
        out.write(0, Arrival { method: arrived.method, data, length, milliseconds, is_cancelled });
        Ok(())
    })
}

/// Writes the first value of a name of the metadata of a call that has arrived, or of the answer to a call that was made, and its length. BERTHA_END
/// says that there is none. If there is no room, the function returns BERTHA_TOO_LARGE, and writes the length alone.
///
/// The metadata of an answer comes with the response, with the end of a stream of responses, or with the failure; it is BERTHA_WOULD_BLOCK before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_call_metadata(
    call: u64,
    name: *const c_char,
    value: *mut c_void,
    capacity: usize,
    length: *mut usize,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller's promise.
        let name = unsafe { text(name) }?;
        // SAFETY: the caller's promise.
        let mut memory = unsafe { Memory::new(value, capacity) }?;
        // SAFETY: the caller's promise.
        let mut length = unsafe { Out::new(length) }?;
        let object = object::get(call)?;
        let metadata = match &object {
            Object::Arrived(call) => call.call.context().metadata(),
            Object::Asked(call) => call.trailers()?,
            object => return Err(object::other(object, "a call")),
        };
        let found = metadata.get(name).ok_or(Failure::END)?;
        length.write(0, found.len());
        if found.len() > capacity {
            let text = format!("a value of {} bytes, for memory of {capacity}", found.len());
            return Err(Failure::new(Code::BERTHA_TOO_LARGE, text));
        }
        memory.write(found);
        Ok(())
    })
}

/// Adds a name and a value to the metadata that goes with the answer to a call that has arrived, or with its failure: before either.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_call_add_metadata(call: u64, entry: *const Entry) -> c_int {
    guarded(|| {
        // SAFETY: the caller's promise.
        let entry = unsafe { one(entry) }?;
        // SAFETY: the caller's promise.
        let name = unsafe { text(entry.name) }?;
        // SAFETY: the caller's promise.
        let value = unsafe { bytes(entry.value, entry.length) }?;
        let added = object::arrived(call)?.call.context().add_trailer(name, value);
        added.map_err(|failure| Failure::argument(failure.text().to_owned()))
    })
}

/// Answers a call that has arrived, and releases its handle; after responses of a stream it is the last of them. BERTHA_END says that
/// no client waits for the answer any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_answer(call: u64, data: *const c_void, length: usize) -> c_int {
    guarded(|| {
        // SAFETY: the caller's promise.
        let response = unsafe { bytes(data, length) }?.to_vec();
        over(object::take_arrived(call)?.call.answer(response))
    })
}

/// Fails a call that has arrived, or its stream of responses, with a code from BERTHA_CALL_FAILED on and a text, and releases its handle.
/// The client learns that the call may have run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_fail(call: u64, code: c_int, reason: *const c_char) -> c_int {
    guarded(|| {
        let kind = Code::failure_kind(code);
        let kind = kind.ok_or_else(|| Failure::argument("the code is none that a call fails with"))?;
        // SAFETY: the caller's promise.
        let reason = unsafe { text(reason) }?.to_owned();
        over(object::take_arrived(call)?.call.fail(rpc::Failure::of(kind, reason).after_running()))
    })
}

/// Returns the outcome of an answer that a client waited for, or not.
fn over(was_wanted: bool) -> Result<(), Failure> {
    if was_wanted { Ok(()) } else { Err(Failure::END) }
}
