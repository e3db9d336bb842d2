//! Options.

use super::guard::guarded;
use super::pointers::{Out, text};
use crate::object::{self, Object};
use bertha_named::Options;
use parking_lot::Mutex;
use std::ffi::{c_char, c_int};
use std::sync::Arc;

/// Makes options, which are those by default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_options_create(options: *mut u64) -> c_int {
    guarded(|| {
        // SAFETY: the caller's promise.
        let mut options = unsafe { Out::new(options) }?;
        options
            .write(0, object::insert(Object::Options(Arc::new(Mutex::new(Options::of_lasting_runtime()))))?);
        Ok(())
    })
}

/// Sets an option by its name. Connections and listeners take the options that are set when they begin.
///
/// Names, of which the first are for Chunnels of the stack: tls-cert, tls-key and tls-ca (files in PEM), tls-name (the name in the
/// server's certificate, if it is not the host's), key-file (the shared key of noise, in 64 hexadecimal digits), congestion
/// (the control of reliable, such as cubic), qlog (a folder), directory (the socket of the directory for maybe-local);
/// handshake-timeout, idle-timeout, close-timeout, drain-timeout (milliseconds); connections, concurrent-handshakes,
/// offers-per-second (limits of a listener); require-encryption (yes: no other stack is agreed on); upgradable (yes, at both ends: the
/// stack can change by bertha_upgrade).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bertha_options_set(
    options: u64,
    name: *const c_char,
    value: *const c_char,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller's promise.
        let name = unsafe { text(name) }?;
        // SAFETY: the caller's promise.
        let value = unsafe { text(value) }?;
        Ok(object::options(options)?.lock().set(name, value).map_err(bertha::Error::from)?)
    })
}
