//! Bursts of messages.

use super::buffer::{Buffer, give};
use super::guard::guarded;
use super::pointers::{Out, copied};
use crate::object;
use crate::wait::Limit;
use std::ffi::c_int;

/// Sends a buffer, without a copy. The buffer is the library's again, unless the function returns BERTHA_WOULD_BLOCK,
/// BERTHA_TOO_LARGE, BERTHA_BAD_HANDLE or BERTHA_BAD_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_send_buffer(
    connection: u64,
    buffer: *const Buffer,
    milliseconds: i64,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { bertha_send_burst(connection, buffer, 1, milliseconds) }
}

/// Sends a burst of buffers, at most 4096, without copies. Over a datapath that keeps no order, messages of a burst may change places.
///
/// The buffers are the library's again, unless the function returns BERTHA_WOULD_BLOCK, BERTHA_TOO_LARGE, BERTHA_BAD_HANDLE or
/// BERTHA_BAD_ARGUMENT: then all are the caller's. After another error, a first part was sent, and the rest is lost.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_send_burst(
    connection: u64,
    buffers: *const Buffer,
    count: usize,
    milliseconds: i64,
) -> c_int {
    guarded(|| {
        let limit = Limit::of(milliseconds)?;
        // SAFETY: the caller's promise.
        let buffers = unsafe { copied(buffers, count) }?;
        let connection = object::connection(connection)?;
        let wanted =
            buffers.iter().map(|&Buffer { data, length, handle }| object::Wanted { handle, data, length });
        let longest = connection.any.longest();
        let take = || object::take_buffers(wanted, longest);
        let (messages, bytes) = connection.sending.send_burst(limit, take)?;
        connection.count_sent(messages, bytes);
        Ok(())
    })
}

/// Receives the messages that are there, at least one and at most `capacity`, and writes their number. The caller releases or
/// sends each of the buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_receive_burst(
    connection: u64,
    buffers: *mut Buffer,
    capacity: usize,
    count: *mut usize,
    milliseconds: i64,
) -> c_int {
    guarded(|| {
        let limit = Limit::of(milliseconds)?;
        // SAFETY: the caller's promise.
        let mut out = unsafe { Out::array(buffers, capacity) }?;
        // SAFETY: the caller's promise.
        let mut count = unsafe { Out::new(count) }?;
        let connection = object::connection(connection)?;
        count.write(0, 0);
        if out.count() == 0 {
            return Ok(());
        }
        let burst = connection.receiving.receive_burst(out.count(), limit)?;
        let (messages, bytes) = (burst.len(), burst.iter().map(|message| message.len()).sum());
        connection.count_received(messages, bytes);
        give(burst, &mut out)?;
        count.write(0, messages);
        Ok(())
    })
}
