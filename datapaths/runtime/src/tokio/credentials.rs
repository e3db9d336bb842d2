//! The owner of the peer process.

use bertha_core::Error;
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use std::io;
use std::os::fd::AsFd;

/// The owner of the peer process of a connection, as the kernel vouches for it (`SO_PEERCRED`, or `SO_PASSCRED` for
/// datagrams).
///
/// The numbers are those that this process sees in its namespaces. A user without a number there appears as
/// the overflow user, usually 65534.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Credentials {
    /// Effective user id of the peer at the time when it connected, or began to listen. Of a datagram, the real
    /// user id when it was sent, or another id that the kernel lets the process have.
    pub user: u32,
    /// Group id of the peer in the same sense.
    pub group: u32,
    /// Process id, unless the process is in a namespace that this process doesn't see.
    pub process: Option<u32>,
}

impl Credentials {
    /// Makes credentials of the numbers that the kernel gave, where the process in a namespace that this process
    /// doesn't see has the number zero.
    pub fn new(user: u32, group: u32, process: i32) -> Self {
        Self { user, group, process: u32::try_from(process).ok().filter(|&process| process != 0) }
    }

    /// Returns the credentials of the peer of a Unix socket.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn of_peer(socket: impl AsFd) -> Result<Self, Error> {
        // rustix takes a process of another namespace, whose number is zero, for a process that has a number.
        let found = getsockopt(&socket, PeerCredentials).map_err(io::Error::from)?;
        Ok(Self::new(found.uid(), found.gid(), found.pid()))
    }
}
