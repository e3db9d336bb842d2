//! The sender of a datagram, and its owner.

use crate::Credentials;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, UnixAddr, UnixCredentials, recvmsg};
use rustix::net::SocketAddrUnix;
use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd};

/// The room for the credentials of one sender, and for no descriptor beside them, aligned as the headers in it.
#[repr(align(8))]
struct Space([u8; 32]);

/// The sender of a datagram. Datagrams of one address and two owners have two senders, so that a connection is never fed by another
/// process than its own, even if another process binds the address anew.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Sender {
    pub(super) address: SocketAddrUnix,
    /// The owner, if the socket asks for it.
    pub(super) owner: Option<Credentials>,
}

impl From<SocketAddrUnix> for Sender {
    fn from(address: SocketAddrUnix) -> Self {
        Self { address, owner: None }
    }
}

/// Receives a datagram on a socket that asks for owners, without waiting. Returns its whole length, which may be longer than `into`.
pub(super) fn receive_vouched(socket: impl AsFd, into: &mut [u8]) -> io::Result<(usize, Sender)> {
    let mut space = Space([0; 32]);
    let mut parts = [IoSliceMut::new(into)];
    let flags = MsgFlags::MSG_TRUNC | MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_CMSG_CLOEXEC;
    let socket = socket.as_fd().as_raw_fd();
    let received = recvmsg::<UnixAddr>(socket, &mut parts, Some(&mut space.0), flags)?;
    // A sender without a name can't be answered, nor told from others.
    let address = received.address.as_ref().map_or_else(|| Ok(SocketAddrUnix::new_unnamed()), to_rustix)?;
    // Descriptors that an older kernel lets through find no room, and hide the credentials.
    let owner = received.cmsgs().ok().and_then(|mut messages| {
        messages.find_map(|message| match message {
            ControlMessageOwned::ScmCredentials(credentials) => Some(credentials),
            _ => None,
        })
    });
    Ok((received.bytes, Sender { address, owner: owner.map(of_process) }))
}

fn of_process(found: UnixCredentials) -> Credentials {
    Credentials::new(found.uid(), found.gid(), found.pid())
}

fn to_rustix(address: &UnixAddr) -> io::Result<SocketAddrUnix> {
    Ok(match (address.path(), address.as_abstract()) {
        (Some(path), _) => SocketAddrUnix::new(path)?,
        (None, Some(name)) => SocketAddrUnix::new_abstract_name(name)?,
        (None, None) => SocketAddrUnix::new_unnamed(),
    })
}
