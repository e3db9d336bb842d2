//! Connecting.

use super::guard::guarded;
use super::pointers::{Out, text};
use crate::connecting::Connecting;
use crate::connection::Connection;
use crate::failure::Failure;
use crate::object::{self, Object};
use crate::wait::Limit;
use bertha::Error;
use bertha_named::{self as named, Stack, Transport};
use std::ffi::{c_char, c_int};
use std::sync::Arc;

/// Returns the datapath, the destination and the stack of these names.
///
/// # Safety
/// The texts are null, or have a zero at their end.
pub(super) unsafe fn place<'a>(
    datapath: *const c_char,
    address: *const c_char,
    stack: *const c_char,
) -> Result<(Transport, &'a str, Stack), Failure> {
    // SAFETY: as above.
    let datapath = unsafe { text(datapath) }?.parse::<Transport>().map_err(Error::from)?;
    // SAFETY: as above. The text is copied before the caller's call returns.
    let address = unsafe { text(address) }?;
    // SAFETY: as above.
    let stack = unsafe { text(stack) }?.parse::<Stack>().map_err(Error::from)?;
    Ok((datapath, address, stack))
}

/// # Safety
/// The texts are null, or have a zero at their end.
unsafe fn begin(
    datapath: *const c_char,
    address: *const c_char,
    stack: *const c_char,
    options: u64,
) -> Result<Arc<Connecting>, Failure> {
    // SAFETY: as above.
    let datapath = unsafe { text(datapath) }?;
    // SAFETY: as above.
    let address = unsafe { text(address) }?;
    // SAFETY: as above.
    let stack = unsafe { text(stack) }?;
    let options = object::options_or_default(options)?;
    Connecting::begin(named::connect(datapath, address, stack, options).map_err(Error::from)?)
}

/// Connects to the server at an address, and agrees with it on a stack.
///
/// The datapath is udp, tcp, unix, unix-stream or shm, or another that the library was built with. The address is IP:PORT, HOST:PORT, or
/// unix:PATH for the last three. The stack has the Chunnels, top first, with alternatives: "ordered,reliable,tls|checksum". The options may be 0. The
/// time is in milliseconds; -1 is without limit. When it is up, the connection is given up.
///
/// With the datapath topic, the connection publishes to a topic of a messaging service: the address is memory:TOPIC, within this process, or
/// nats://HOST:PORT/TOPIC, kafka://, redis://, sqs://, pubsub:// or azure://, if the library was built with it. With ?subscription=NAME
/// behind the address the connection receives instead, and ?create=yes makes the topic unless it exists; an ampersand joins the two. Ends of topics do
/// not agree on stacks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_connect(
    datapath: *const c_char,
    address: *const c_char,
    stack: *const c_char,
    options: u64,
    milliseconds: i64,
    connection: *mut u64,
) -> c_int {
    guarded(|| {
        let limit = Limit::of(milliseconds)?;
        // SAFETY: the caller's promise.
        let mut out = unsafe { Out::new(connection) }?;
        // SAFETY: the caller's promise.
        let connecting = unsafe { begin(datapath, address, stack, options) }?;
        let connected = connecting.outcome(limit);
        if connected.is_err() {
            connecting.release();
        }
        out.write(0, object::insert(Object::Connection(Connection::new(connected?)))?);
        Ok(())
    })
}

/// Begins to connect as bertha_connect does, and does not wait. The handle has a descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_connect_start(
    datapath: *const c_char,
    address: *const c_char,
    stack: *const c_char,
    options: u64,
    connecting: *mut u64,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller's promise.
        let mut out = unsafe { Out::new(connecting) }?;
        // SAFETY: the caller's promise.
        let connecting = unsafe { begin(datapath, address, stack, options) }?;
        out.write(0, object::insert(Object::Connecting(connecting))?);
        Ok(())
    })
}

/// Waits for what bertha_connect_start has begun. While it goes on, the function returns BERTHA_WOULD_BLOCK when the time is up; else the
/// handle is released.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_connect_finish(
    connecting: u64,
    milliseconds: i64,
    connection: *mut u64,
) -> c_int {
    guarded(|| {
        let limit = Limit::of(milliseconds)?;
        // SAFETY: the caller's promise.
        let mut out = unsafe { Out::new(connection) }?;
        let connected = object::connecting(connecting)?.outcome(limit);
        if connected.as_ref().is_err_and(Failure::is_late) {
            return connected.map(drop);
        }
        // The connection belongs to the call that finishes first.
        if !object::finish(connecting) {
            return Err(Failure::RELEASED);
        }
        out.write(0, object::insert(Object::Connection(Connection::new(connected?)))?);
        Ok(())
    })
}
