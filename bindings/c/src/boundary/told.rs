//! Texts and figures about a connection.

use super::guard::guarded;
use super::pointers::{Memory, Out};
use crate::code::Code;
use crate::connection::Connection;
use crate::failure::Failure;
use crate::figures::Figures;
use crate::object;
use std::ffi::{c_char, c_int};

/// Writes a text and a zero behind it, and its length, without the zero.
pub(super) fn tell(text: &str, mut memory: Memory, mut length: Out<usize>) -> Result<(), Failure> {
    // A zero within a text, as a peer may send, would end it.
    let mut bytes = text.as_bytes().to_vec();
    bytes.retain(|byte| *byte != 0);
    length.write(0, bytes.len());
    if bytes.len() >= memory.capacity() {
        let text = format!("a text of {} bytes and a zero, for memory of {}", bytes.len(), memory.capacity());
        return Err(Failure::new(Code::BERTHA_TOO_LARGE, text));
    }
    bytes.push(0);
    memory.write(&bytes);
    Ok(())
}

/// # Safety
/// The memory is null, or of this capacity, and so is the place of the length.
unsafe fn told(
    connection: u64,
    text: *mut c_char,
    capacity: usize,
    length: *mut usize,
    of: impl FnOnce(&Connection) -> String,
) -> c_int {
    guarded(|| {
        // SAFETY: as above.
        let memory = unsafe { Memory::new(text.cast(), capacity) }?;
        // SAFETY: as above.
        let length = unsafe { Out::new(length) }?;
        tell(&of(&*object::connection(connection)?), memory, length)
    })
}

/// Writes the stack in use, and the reasons for it, as text with a zero at its end, and the length without the zero. If there is no room,
/// the function returns BERTHA_TOO_LARGE, and writes the length alone: with a capacity of 0 it only asks for the length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_explain(
    connection: u64,
    text: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { told(connection, text, capacity, length, |connection| connection.any.explain()) }
}

/// Writes the state of each layer as text, a line for each, as bertha_explain writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_statistics_text(
    connection: u64,
    text: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { told(connection, text, capacity, length, |connection| connection.any.statistics()) }
}

/// Writes the address of the peer, as bertha_explain writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_peer_address(
    connection: u64,
    text: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> c_int {
    let address = |connection: &Connection| connection.any.peer_address().to_string();
    // SAFETY: the caller's promise.
    unsafe { told(connection, text, capacity, length, address) }
}

/// Writes the address of this end, as bertha_explain writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_local_address(
    connection: u64,
    text: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> c_int {
    let address = |connection: &Connection| connection.any.local_address().to_string();
    // SAFETY: the caller's promise.
    unsafe { told(connection, text, capacity, length, address) }
}

/// Writes the identity that the peer has proved, such as its certificate, or a text of length 0 if there is none, as
/// bertha_explain writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_peer_identity(
    connection: u64,
    text: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> c_int {
    let identity = |connection: &Connection| connection.any.peer_identity().unwrap_or_default();
    // SAFETY: the caller's promise.
    unsafe { told(connection, text, capacity, length, identity) }
}

/// Writes figures of a connection.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_statistics(connection: u64, figures: *mut Figures) -> c_int {
    guarded(|| {
        // SAFETY: the caller's promise.
        let mut out = unsafe { Out::new(figures) }?;
        out.write(0, object::connection(connection)?.figures());
        Ok(())
    })
}
