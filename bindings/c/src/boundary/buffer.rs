//! Messages in memory of the library, which nothing copies.

use super::guard::guarded;
use super::pointers::{Out, one};
use crate::object;
use crate::wait::Limit;
use bertha::Buf;
use std::ffi::c_int;

/// A message in memory of the library. It belongs to the caller until it is sent or released. A message that is sent may be
/// shorter than the buffer: set the length; the rest is not to be changed, and a buffer whose data were moved is not sent.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Buffer {
    /// The bytes, which lie there until the buffer is sent or released.
    pub data: *mut u8,
    /// Number of bytes.
    pub length: usize,
    /// Names the buffer.
    pub handle: u64,
}

/// Writes one of the library's buffers as C has it.
pub(super) fn give(
    buffers: impl IntoIterator<Item = Buf>,
    out: &mut Out<Buffer>,
) -> Result<(), crate::failure::Failure> {
    let mut number = 0;
    object::insert_buffers(buffers, |data, length, handle| {
        out.write(number, Buffer { data, length, handle });
        number += 1;
    })
}

/// Makes a buffer of this length for a message of this connection. Its bytes may hold anything.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_buffer_create(connection: u64, length: usize, buffer: *mut Buffer) -> c_int {
    guarded(|| {
        // SAFETY: the caller's promise.
        let mut out = unsafe { Out::new(buffer) }?;
        let connection = object::connection(connection)?;
        connection.sending.check_length(length)?;
        give([connection.buffer(length)?], &mut out)
    })
}

/// Releases a buffer. A message of a topic that was not acknowledged is delivered again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_buffer_release(buffer: *const Buffer) -> c_int {
    guarded(|| {
        // SAFETY: the caller's promise.
        let buffer = unsafe { one(buffer) }?;
        object::take_buffer(buffer.handle).map(drop)
    })
}

/// Receives a message, without a copy. The caller releases the buffer, or sends it, over any connection.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_receive_buffer(
    connection: u64,
    buffer: *mut Buffer,
    milliseconds: i64,
) -> c_int {
    guarded(|| {
        let limit = Limit::of(milliseconds)?;
        // SAFETY: the caller's promise.
        let mut out = unsafe { Out::new(buffer) }?;
        let connection = object::connection(connection)?;
        let message = connection.receiving.receive(limit)?;
        connection.count_received(1, message.len());
        give([message], &mut out)
    })
}

/// Acknowledges the message of a topic, whose work is done, so that it is not delivered again, and releases its buffer. Other
/// buffers are only released.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_acknowledge(buffer: *const Buffer) -> c_int {
    guarded(|| {
        // SAFETY: the caller's promise.
        let buffer = unsafe { one(buffer) }?;
        object::take_buffer(buffer.handle).map(Buf::done)
    })
}
