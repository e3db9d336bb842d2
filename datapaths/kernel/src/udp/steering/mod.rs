//! Steering by the kernel: a program of eBPF picks the socket of each datagram among sockets of one address.
//!
//! The first socket of the group is the listener's, and gets all datagrams that the program does not know: of
//! strangers, of handshakes, and of connections that are not steered. The other sockets belong to the shards.

mod code;
#[cfg(test)]
mod interpreter;

use bertha_bpf_sys::{KeySet, Program};
use bertha_core::{Error, ErrorKind, Steering};
use std::io;

/// Maximum number of connections whose messages one listener steers at a time. The rest goes on without.
const MAX_STEERED: u32 = 1 << 16;

/// Loads the program for a rule. Returns it with the set of the prefixes that are steered.
///
/// # Errors
/// [`Unavailable`](ErrorKind::Unavailable) with the reason.
pub(super) fn program(by: &Steering) -> Result<(Program, KeySet), Error> {
    let prefixes = KeySet::new(MAX_STEERED).map_err(|error| refused("creates no map", error))?;
    let program = Program::load(&code::code(by, prefixes.number())?)
        .map_err(|error| refused("does not load the program", error))?;
    Ok((program, prefixes))
}

#[cold]
pub(super) fn refused(what: &str, error: io::Error) -> Error {
    let hint = match error.kind() {
        io::ErrorKind::PermissionDenied => ", which takes the capability CAP_BPF",
        _ => "",
    };
    let what = format!("steering by the kernel is not possible: the system {what}{hint}: {error}");
    Error::new(ErrorKind::Unavailable, what).at("Udp").because(error)
}
