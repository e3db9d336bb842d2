//! Listening.

use super::connect::place;
use super::guard::guarded;
use super::pointers::{Memory, Out};
use super::told::tell;
use crate::connection::Connection;
use crate::listener::Listener;
use crate::object::{self, Object};
use crate::wait::Limit;
use bertha_named::Listening;
use std::ffi::{c_char, c_int};

/// Listens at an address, with the names of bertha_connect. Port 0 leaves the port to the system. Clients agree on their stacks in the
/// background, and wait for bertha_accept, a few at most; others wait in the system.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_listen(
    datapath: *const c_char,
    address: *const c_char,
    stack: *const c_char,
    options: u64,
    listener: *mut u64,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller's promise.
        let mut out = unsafe { Out::new(listener) }?;
        // SAFETY: the caller's promise.
        let (datapath, address, stack) = unsafe { place(datapath, address, stack) }?;
        let options = object::options_or_default(options)?;
        let listening = Listening::new(stack, address, options);
        out.write(0, object::insert(Object::Listener(Listener::begin(datapath, listening)?))?);
        Ok(())
    })
}

/// Writes the address of a listener as text, as bertha_explain writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_listener_address(
    listener: u64,
    text: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller's promise.
        let memory = unsafe { Memory::new(text.cast(), capacity) }?;
        // SAFETY: the caller's promise.
        let length = unsafe { Out::new(length) }?;
        tell(&object::listener(listener)?.address(), memory, length)
    })
}

/// Waits for the next client.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_accept(listener: u64, milliseconds: i64, connection: *mut u64) -> c_int {
    guarded(|| {
        let limit = Limit::of(milliseconds)?;
        // SAFETY: the caller's promise.
        let mut out = unsafe { Out::new(connection) }?;
        let client = object::listener(listener)?.accept(limit)?;
        out.write(0, object::insert(Object::Connection(Connection::new(client)))?);
        Ok(())
    })
}
