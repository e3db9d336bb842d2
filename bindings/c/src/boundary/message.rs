//! Messages in the caller's memory.

use super::guard::guarded;
use super::pointers::{Memory, Out, bytes};
use crate::code::Code;
use crate::failure::Failure;
use crate::object;
use crate::wait::Limit;
use std::ffi::{c_int, c_void};

/// Sends a message, which is copied.
///
/// BERTHA_OK says that the message was taken: the datapath has it, or gets it as soon as there is room. BERTHA_WOULD_BLOCK says that
/// it was not. An error of a message that was taken earlier is told by the next call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_send(
    connection: u64,
    data: *const c_void,
    length: usize,
    milliseconds: i64,
) -> c_int {
    guarded(|| {
        let limit = Limit::of(milliseconds)?;
        // SAFETY: the caller's promise.
        let data = unsafe { bytes(data, length) }?;
        let connection = object::connection(connection)?;
        connection.sending.check_length(length)?;
        let mut message = connection.buffer(length)?;
        message.copy_from_slice(data);
        connection.sending.send(message, limit)?;
        connection.count_sent(1, length);
        Ok(())
    })
}

/// Receives a message into memory of this capacity, and writes its length. A message that is longer stays for the next
/// call: the function returns BERTHA_TOO_LARGE, and writes its length all the same.
///
/// A message of a topic is acknowledged, before any work with it: bertha_receive_buffer and bertha_acknowledge leave time for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_receive(
    connection: u64,
    data: *mut c_void,
    capacity: usize,
    length: *mut usize,
    milliseconds: i64,
) -> c_int {
    guarded(|| {
        let limit = Limit::of(milliseconds)?;
        // SAFETY: the caller's promise.
        let mut memory = unsafe { Memory::new(data, capacity) }?;
        // SAFETY: the caller's promise.
        let mut length = unsafe { Out::new(length) }?;
        let connection = object::connection(connection)?;
        let message = connection.receiving.receive(limit)?;
        length.write(0, message.len());
        if message.len() > memory.capacity() {
            let text = format!("a message of {} bytes, for memory of {capacity}", message.len());
            connection.receiving.put_back(message);
            return Err(Failure::new(Code::BERTHA_TOO_LARGE, text));
        }
        memory.write(&message);
        connection.count_received(1, message.len());
        message.done();
        Ok(())
    })
}
