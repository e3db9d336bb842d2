//! The echo by the functions that C calls.
//!
//! Each function is called by a pointer of which the compiler knows nothing, as a program calls a library.

#![allow(unsafe_code, reason = "the functions are those of C")]

use super::{BYTES, STACK, address};
use crate::{Error, ErrorKind};
use bertha_c::{
    Buffer, bertha_accept, bertha_buffer_create, bertha_buffer_release, bertha_code, bertha_connect,
    bertha_error_message, bertha_listen, bertha_listener_address, bertha_receive, bertha_receive_burst,
    bertha_release, bertha_send, bertha_send_burst,
};
use std::ffi::{CStr, CString, c_int};
use std::hint::black_box;
use std::ptr;

/// Time of a call that has to succeed, in milliseconds.
const SOON: i64 = 10_000;

/// Both ends of a connection.
struct Ends {
    client: u64,
    server: u64,
}

/// Echoes messages, `count` at a time.
///
/// # Errors
/// Errors of the library.
pub(super) fn echo(datapath: &str, count: usize, rounds: u64) -> Result<(), Error> {
    let (address, _folder) = address(datapath)?;
    let ends = Ends::connect(datapath, &address)?;
    for _ in 0..rounds {
        if count == 1 {
            ends.one()?;
        } else {
            ends.many(count)?;
        }
    }
    for handle in [ends.client, ends.server] {
        checked(bertha_release(handle))?;
    }
    Ok(())
}

impl Ends {
    fn connect(datapath: &str, address: &str) -> Result<Self, Error> {
        let text = |text: &str| {
            CString::new(text).map_err(Error::while_doing(ErrorKind::Bertha, "a text with a zero"))
        };
        let (datapath, stack) = (text(datapath)?, text(STACK)?);
        let (mut listener, mut client, mut server) = (0, 0, 0);
        let at = text(address)?;
        // SAFETY: the texts have zeros at their ends, and the place is a variable.
        checked(unsafe { bertha_listen(datapath.as_ptr(), at.as_ptr(), stack.as_ptr(), 0, &mut listener) })?;
        let (mut at, mut length) = ([0; 256], 0);
        // SAFETY: the memory has this capacity, and the place of the length is a variable.
        checked(unsafe { bertha_listener_address(listener, at.as_mut_ptr(), at.len(), &mut length) })?;
        // SAFETY: as for listening; the function wrote a text with a zero at its end.
        checked(unsafe {
            bertha_connect(datapath.as_ptr(), at.as_ptr(), stack.as_ptr(), 0, SOON, &mut client)
        })?;
        // SAFETY: the place is a variable.
        checked(unsafe { bertha_accept(listener, SOON, &mut server) })?;
        // A thread of the library would go on to accept at the socket of the server's end, which nobody does in Rust.
        checked(bertha_release(listener))?;
        Ok(Self { client, server })
    }

    /// Sends a message and its echo.
    fn one(&self) -> Result<(), Error> {
        let (send, receive) = (black_box(bertha_send as Send), black_box(bertha_receive as Receive));
        let mut place = [7_u8; BYTES];
        for (from, to) in [(self.client, self.server), (self.server, self.client)] {
            // SAFETY: the message lies in an array of this length.
            checked(unsafe { send(from, place.as_ptr().cast(), BYTES, 0) })?;
            let mut length = 0;
            // SAFETY: the array has this capacity, and the place of the length is a variable.
            polled(|| unsafe { receive(to, place.as_mut_ptr().cast(), BYTES, &mut length, 0) })?;
        }
        Ok(())
    }

    /// Sends a burst and its echo, without copies.
    fn many(&self, count: usize) -> Result<(), Error> {
        let (create, release) =
            (black_box(bertha_buffer_create as Create), black_box(bertha_buffer_release as Release));
        let (send, receive) =
            (black_box(bertha_send_burst as SendBurst), black_box(bertha_receive_burst as ReceiveBurst));
        let mut burst: Vec<Buffer> = Vec::with_capacity(count);
        for _ in 0..count {
            let mut buffer = none();
            // SAFETY: the place is a variable.
            checked(unsafe { create(self.client, BYTES, &mut buffer) })?;
            // SAFETY: the buffer has this many bytes, which are the caller's until it is sent.
            unsafe { ptr::copy_nonoverlapping([7_u8; BYTES].as_ptr(), buffer.data, BYTES) };
            burst.push(buffer);
        }
        for (from, to) in [(self.client, self.server), (self.server, self.client)] {
            // SAFETY: the array has this many buffers.
            checked(unsafe { send(from, burst.as_ptr(), burst.len(), 0) })?;
            let mut there = 0;
            while there < count {
                let (rest, mut more) = (&mut burst[there..], 0);
                // SAFETY: the array has this many places, and the place of the number is a variable.
                polled(|| unsafe { receive(to, rest.as_mut_ptr(), rest.len(), &mut more, 0) })?;
                there += more;
            }
        }
        for buffer in &burst {
            // SAFETY: the place is a buffer.
            checked(unsafe { release(buffer) })?;
        }
        Ok(())
    }
}

type Send = unsafe extern "C" fn(u64, *const std::ffi::c_void, usize, i64) -> c_int;
type Receive = unsafe extern "C" fn(u64, *mut std::ffi::c_void, usize, *mut usize, i64) -> c_int;
type Create = unsafe extern "C" fn(u64, usize, *mut Buffer) -> c_int;
type Release = unsafe extern "C" fn(*const Buffer) -> c_int;
type SendBurst = unsafe extern "C" fn(u64, *const Buffer, usize, i64) -> c_int;
type ReceiveBurst = unsafe extern "C" fn(u64, *mut Buffer, usize, *mut usize, i64) -> c_int;

/// Returns a buffer that is none yet.
fn none() -> Buffer {
    Buffer { data: ptr::null_mut(), length: 0, handle: 0 }
}

/// Calls a function until it finds something.
fn polled(mut call: impl FnMut() -> c_int) -> Result<(), Error> {
    loop {
        let code = call();
        if code != bertha_code::BERTHA_WOULD_BLOCK as c_int {
            return checked(code);
        }
        // Threads of the library have their turn, also under a counter, which runs one thread at a time.
        std::thread::yield_now();
    }
}

/// Returns the library's error, if there is one.
fn checked(code: c_int) -> Result<(), Error> {
    if code == bertha_code::BERTHA_OK as c_int {
        return Ok(());
    }
    // SAFETY: the text has a zero at its end, and is there until the next error of this thread.
    let text = unsafe { CStr::from_ptr(bertha_error_message()) };
    Err(Error::new(ErrorKind::Bertha, format!("echoing in C: {}", text.to_string_lossy())))
}
