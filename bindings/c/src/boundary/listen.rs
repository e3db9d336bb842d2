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

/// Writes the address of a listener or of a service as text, as bertha_explain writes.
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
        let address = match object::get(listener)? {
            Object::Listener(listener) => listener.address(),
            Object::Service(service) => service.address(),
            object => return Err(object::other(&object, "a listener or a service")),
        };
        tell(&address, memory, length)
    })
}

/// Waits for the next client of a listener, and writes its connection; or for the next call of a service without callbacks, and
/// writes the call. BERTHA_END says that the service was closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_accept(listener: u64, milliseconds: i64, connection: *mut u64) -> c_int {
    guarded(|| {
        let limit = Limit::of(milliseconds)?;
        // SAFETY: the caller's promise.
        let mut out = unsafe { Out::new(connection) }?;
        let accepted = match object::get(listener)? {
            Object::Listener(listener) => Object::Connection(Connection::new(listener.clients.next(limit)?)),
            Object::Service(service) => Object::Arrived(service.next(limit)?),
            object => return Err(object::other(&object, "a listener or a service")),
        };
        out.write(0, object::insert(accepted)?);
        Ok(())
    })
}
