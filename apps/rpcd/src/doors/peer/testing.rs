//! The first messages between daemons.

use super::greeting;
use bertha_core::Error;
use bertha_managed::attach::Hello;

/// Reads the first message of a daemon that wants to call.
///
/// # Errors
/// Fails with the reason of the refusal.
pub fn hello(message: &[u8]) -> Result<Hello, Error> {
    greeting::read_hello(message)
}

/// Reads the answer to it.
///
/// # Errors
/// Fails with the reason of the daemon, or for what is no answer.
pub fn answer(message: &[u8]) -> Result<(), Error> {
    greeting::read_answer(message)
}
