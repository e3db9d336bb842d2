//! Steering by the kernel: a program of eBPF picks the socket of each datagram among sockets of one address.
//!
//! The first socket of the group is the listener's, and gets all datagrams that the program does not know: of
//! strangers, of handshakes, and of connections that are not steered. The other sockets belong to the shards.

#[cfg(test)]
mod interpreter;
mod program;

use super::socket::UdpSocket;
use crate::datagram::Steered;
use bertha_bpf_sys::{KeySet, Program};
use bertha_core::{Error, ErrorKind, Steering};
use std::io;

/// Maximum number of connections whose messages one listener steers at a time. The rest goes on without.
const MAX_STEERED: u32 = 1 << 16;

/// Opens a socket for each shard beside the listener's `socket`, and lets the kernel pick among them.
pub(super) fn steer(socket: &UdpSocket, by: &Steering) -> Result<Steered<UdpSocket>, Error> {
    let prefixes = KeySet::new(MAX_STEERED).map_err(|error| refused("creates no map", error))?;
    let program = Program::load(&program::code(by, prefixes.number())?)
        .map_err(|error| refused("does not load the program", error))?;
    let opened = || {
        let shards = (0..by.shards().get()).map(|_| socket.open_beside()).collect::<io::Result<Vec<_>>>()?;
        // A group has to have two sockets before it takes a program. A datagram that comes in between may be
        // lost.
        program.attach(&socket.io)?;
        Ok(shards)
    };
    let shards = opened().map_err(|error| refused("opens no group of sockets", error))?;
    Ok(Steered { shards, prefixes })
}

#[cold]
fn refused(what: &str, error: io::Error) -> Error {
    let hint = match error.kind() {
        io::ErrorKind::PermissionDenied => ", which takes the capability CAP_BPF",
        _ => "",
    };
    let what = format!("steering by the kernel is not possible: the system {what}{hint}: {error}");
    Error::new(ErrorKind::Unavailable, what).at("Udp").because(error)
}
