//! Calls of the functions of another process.

use super::buffer::{Buffer, give};
use super::connect::place;
use super::guard::guarded;
use super::pointers::{Out, bytes, copied, one, text};
use crate::asked::{Asked, Streams, answer};
use crate::connecting::Client;
use crate::failure::Failure;
use crate::object::{self, Object};
use crate::wait::Limit;
use bertha::Error;
use bertha::rpc::Metadata;
use bertha_named::{AnyCall, Calling, method};
use std::ffi::{c_char, c_int, c_void};
use std::time::Duration;

/// A name and a value that go with a call, beside its request, or with its answer. Names have letters in lower case, digits, `-`, `_` and `.`; values are
/// bytes. A call has at most 64 of them, of 8 KiB together.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// The name.
    pub name: *const c_char,
    /// The value.
    pub value: *const c_void,
    /// Number of bytes of the value.
    pub length: usize,
}

/// A call to be made. One that is all zeros but for its method has an empty request and no deadline.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// The name of the method.
    pub method: *const c_char,
    /// The request.
    pub data: *const c_void,
    /// Number of bytes of the request.
    pub length: usize,
    /// Names and values beside the request.
    pub metadata: *const Entry,
    /// Number of names and values.
    pub entries: usize,
    /// The milliseconds after which the call fails; without limit if they are zero or less.
    pub deadline: i64,
    /// The number is not zero if further requests follow, by bertha_call_send.
    pub has_requests: c_int,
    /// The number is not zero for a method with a stream of responses, which bertha_call_start calls.
    pub has_responses: c_int,
}

/// Returns a call, and the streams that it has.
///
/// # Safety
/// The pointer is null, or leads to a call whose pointers are null or lead to what they stand for.
unsafe fn read(call: *const Call) -> Result<(AnyCall, Streams), Failure> {
    // SAFETY: as above.
    let Call { method: name, data, length, metadata, entries, deadline, has_requests, has_responses } =
        unsafe { one(call) }?;
    // SAFETY: as above.
    let method = method(unsafe { text(name) }?).map_err(Error::from)?;
    // SAFETY: as above.
    let request = unsafe { bytes(data, length) }?;
    let mut call = AnyCall::new(method, request.to_vec());
    call.deadline = u64::try_from(deadline).ok().filter(|time| *time > 0).map(Duration::from_millis);
    if entries > 0 {
        // SAFETY: as above.
        for entry in unsafe { copied(metadata, entries) }? {
            // SAFETY: as above.
            let name = unsafe { text(entry.name) }?;
            // SAFETY: as above.
            let value = unsafe { bytes(entry.value, entry.length) }?;
            add(&mut call.metadata, name, value)?;
        }
    }
    Ok((call, Streams { requests: has_requests != 0, responses: has_responses != 0 }))
}

fn add(metadata: &mut Metadata, name: &str, value: &[u8]) -> Result<(), Failure> {
    metadata.add(name, value).map_err(|error| Failure::argument(error.context().to_string()))
}

/// Makes a client of the service at an address, with the names of bertha_connect.
///
/// The stack is for bytes, and reliable, by itself or by its datapath. With a time of 0 the function does not wait: the connection is
/// made in the background, calls wait for it, and fail with its error. When another time is up, the connection is given up. The option
/// codec names the format of requests and responses, which the two ends compare.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_client(
    datapath: *const c_char,
    address: *const c_char,
    stack: *const c_char,
    options: u64,
    milliseconds: i64,
    client: *mut u64,
) -> c_int {
    guarded(|| {
        let limit = Limit::of(milliseconds)?;
        // SAFETY: the caller's promise.
        let mut out = unsafe { Out::new(client) }?;
        // SAFETY: the caller's promise.
        let (datapath, address, stack) = unsafe { place(datapath, address, stack) }?;
        let options = object::options_or_default(options)?;
        let client = Client::begin(datapath.run(Calling::new(stack, address, options)))?;
        if limit != Limit::Now {
            client.outcome(limit).inspect_err(|_| client.release())?;
        }
        out.write(0, object::insert(Object::Client(client))?);
        Ok(())
    })
}

/// Makes a call with one response, and waits for it, up to the deadline of the call. The caller releases the response, as a
/// buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_call(client: u64, call: *const Call, response: *mut Buffer) -> c_int {
    guarded(|| {
        // SAFETY: the caller's promise.
        let mut out = unsafe { Out::new(response) }?;
        // SAFETY: the caller's promise.
        let (call, streams) = unsafe { read(call) }?;
        if streams != Streams::default() {
            return Err(Failure::argument("a call with streams is made by bertha_call_start"));
        }
        let client = object::client(client)?;
        let answer = client.wait(Limit::Never, answer(&client, call))?;
        give([answer.response], &mut out)
    })
}

/// Begins a call, and does not wait. The handle has a descriptor; bertha_call_receive waits for the response, or for each of a stream.
/// Releasing the handle cancels the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_call_start(client: u64, call: *const Call, started: *mut u64) -> c_int {
    guarded(|| {
        // SAFETY: the caller's promise.
        let mut out = unsafe { Out::new(started) }?;
        // SAFETY: the caller's promise.
        let (call, streams) = unsafe { read(call) }?;
        let asked = Asked::begin(object::client(client)?, call, streams)?;
        out.write(0, object::insert(Object::Asked(asked))?);
        Ok(())
    })
}

/// Receives the next response to a call that was made, or the next of the further requests of a call that has arrived. BERTHA_END says
/// that there is none. The caller releases the buffer.
///
/// The first use for a call that has arrived lets its client send; it comes before the first response.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_call_receive(call: u64, buffer: *mut Buffer, milliseconds: i64) -> c_int {
    guarded(|| {
        let limit = Limit::of(milliseconds)?;
        // SAFETY: the caller's promise.
        let mut out = unsafe { Out::new(buffer) }?;
        let received = match object::get(call)? {
            Object::Asked(call) => call.responses.next(limit)?,
            Object::Arrived(call) => call.receive(limit)?,
            object => return Err(object::other(&object, "a call")),
        };
        give([received], &mut out)
    })
}

/// Sends a further request of a call that was made, or a response of a stream to a call that has arrived. BERTHA_END says that
/// nobody wants it. At most 16 wait here for the other end; the next waits for room, and with BERTHA_WOULD_BLOCK it was not taken.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_call_send(
    call: u64,
    data: *const c_void,
    length: usize,
    milliseconds: i64,
) -> c_int {
    guarded(|| {
        let limit = Limit::of(milliseconds)?;
        // SAFETY: the caller's promise.
        let message = unsafe { bytes(data, length) }?.to_vec();
        match object::get(call)? {
            Object::Asked(call) => call.send(message, limit),
            Object::Arrived(call) => call.send(message, limit),
            object => Err(object::other(&object, "a call")),
        }
    })
}

/// Ends the further requests of a call that was made; or the stream of responses to a call that has arrived, whose handle is then
/// released.
#[unsafe(no_mangle)]
pub extern "C" fn bertha_call_end(call: u64) -> c_int {
    guarded(|| match object::get(call)? {
        Object::Asked(call) => {
            call.end();
            Ok(())
        }
        Object::Arrived(_) => match object::take_arrived(call)?.call.end() {
            true => Ok(()),
            false => Err(Failure::END),
        },
        object => Err(object::other(&object, "a call")),
    })
}
