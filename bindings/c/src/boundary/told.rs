//! Texts and figures about a connection.

use super::guard::guarded;
use super::pointers::{Memory, Out};
use crate::code::Code;
use crate::failure::Failure;
use crate::figures::Figures;
use crate::object::{self, Object};
use crate::wait::Limit;
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

/// The texts and figures about a connection.
enum About {
    Stack,
    Statistics,
    Peer,
    Local,
    Identity,
}

fn of(handle: u64, about: About) -> Result<String, Failure> {
    Ok(match object::get(handle)? {
        Object::Connection(connection) => match about {
            About::Stack => connection.any.explain(),
            About::Statistics => connection.any.statistics(),
            About::Peer => connection.any.peer_address().to_string(),
            About::Local => connection.any.local_address().to_string(),
            About::Identity => connection.any.peer_identity().unwrap_or_default(),
        },
        Object::Client(client) => {
            let caller = client.outcome(Limit::Now)?;
            match about {
                About::Stack => caller.explain(),
                About::Statistics => caller.statistics(),
                About::Peer => caller.peer_address().to_string(),
                About::Local => caller.local_address().to_string(),
                About::Identity => caller.peer_identity().unwrap_or_default(),
            }
        }
        Object::Arrived(call) if matches!(about, About::Peer) => call.call.context().peer_addr().to_string(),
        Object::Arrived(call) if matches!(about, About::Identity) => {
            call.call.context().peer().map(ToString::to_string).unwrap_or_default()
        }
        object => return Err(object::other(&object, "a connection")),
    })
}

/// # Safety
/// The memory is null, or of this capacity, and so is the place of the length.
unsafe fn told(handle: u64, text: *mut c_char, capacity: usize, length: *mut usize, about: About) -> c_int {
    guarded(|| {
        // SAFETY: as above.
        let memory = unsafe { Memory::new(text.cast(), capacity) }?;
        // SAFETY: as above.
        let length = unsafe { Out::new(length) }?;
        tell(&of(handle, about)?, memory, length)
    })
}

/// Writes the stack of a connection or a client, and the reasons for it, as text with a zero at its end, and the length without the zero. If there is no room,
/// the function returns BERTHA_TOO_LARGE, and writes the length alone: with a capacity of 0 it only asks for the length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_explain(
    connection: u64,
    text: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { told(connection, text, capacity, length, About::Stack) }
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
    unsafe { told(connection, text, capacity, length, About::Statistics) }
}

/// Writes the address of the peer, also of a client and of a call that has arrived, as bertha_explain writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_peer_address(
    connection: u64,
    text: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { told(connection, text, capacity, length, About::Peer) }
}

/// Writes the address of this end, as bertha_explain writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_local_address(
    connection: u64,
    text: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { told(connection, text, capacity, length, About::Local) }
}

/// Writes the identity that the peer has proved, such as its certificate, or a text of length 0 if there is none, also of a client
/// and of a call that has arrived, as bertha_explain writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_peer_identity(
    connection: u64,
    text: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { told(connection, text, capacity, length, About::Identity) }
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
