//! The first message of a visitor.

use bertha_runtime::tokio::descriptors;
use bertha_sockets_machine::datagrams::DATAGRAMS;
use bertha_sockets_machine::device::{CONNECT, LISTEN};
use bertha_sockets_machine::protocol::{HELLO, LIST, RELAY};
use rustix::fs::fcntl_get_seals;
use rustix::net::sockopt::socket_type;
use std::io;
use std::os::fd::OwnedFd;
use tokio::io::Interest;
use tokio::net::UnixStream;

/// The wish of a visitor.
#[derive(Debug)]
pub(crate) enum Hello {
    /// To share memory with the other end of its socket.
    Pair(OwnedFd),
    /// To have its socket carried by a stack.
    Carry(Wish, OwnedFd),
    /// To have a socket in the place of its own, with a file for the bytes that come first.
    Relay(OwnedFd, OwnedFd),
    /// To see all sockets.
    List,
}

/// The wish of a program whose socket a stack carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    Connect,
    Listen,
    /// To have a socket of datagrams.
    Datagrams,
}

/// Waits for the first message.
pub(crate) async fn receive(visitor: &UnixStream) -> io::Result<Hello> {
    let wrong = || io::Error::from(io::ErrorKind::InvalidData);
    let mut bytes = [0; HELLO.len()];
    let (read, mut files) =
        visitor.async_io(Interest::READABLE, || descriptors::receive(visitor, &mut bytes)).await?;
    // Nothing is wanted of it any more.
    descriptors::refuse(visitor)?;
    if bytes[..read] == RELAY {
        // The kernel alone answers to both questions.
        let is_wanted =
            |[socket, file]: [&OwnedFd; 2]| socket_type(socket).is_ok() && fcntl_get_seals(file).is_ok();
        let [socket, file] = files.take_all(is_wanted).ok_or_else(wrong)?;
        return Ok(Hello::Relay(socket, file));
    }
    // Another kind is refused before anything is asked of it, which a file of FUSE might answer late.
    let mut socket = || files.take_only(|file| socket_type(file).is_ok()).ok_or_else(wrong);
    match &bytes[..read] {
        bytes if bytes == HELLO => socket().map(Hello::Pair),
        bytes if bytes == CONNECT => socket().map(|socket| Hello::Carry(Wish::Connect, socket)),
        bytes if bytes == LISTEN => socket().map(|socket| Hello::Carry(Wish::Listen, socket)),
        bytes if bytes == DATAGRAMS => socket().map(|socket| Hello::Carry(Wish::Datagrams, socket)),
        bytes if bytes == LIST => Ok(Hello::List),
        _ => Err(wrong()),
    }
}
