//! The owner of the peer process.

use bertha_core::Error;
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use std::io;
use std::os::fd::AsFd;

/// The owner of the peer process of a connection, as the kernel vouches for it (`SO_PEERCRED`).
///
/// The numbers are those that this process sees in its namespaces. A user without a number there appears as
/// the overflow user, usually 65534.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Credentials {
    /// Effective user id of the peer at the time when it connected, or began to listen.
    pub user: u32,
    /// Effective group id of the peer at that time.
    pub group: u32,
    /// Process id, unless the process is in a namespace that this process doesn't see.
    pub process: Option<u32>,
}

impl Credentials {
    /// Returns the credentials of the peer of a Unix socket.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn of_peer(socket: impl AsFd) -> Result<Self, Error> {
        // rustix takes a process of another namespace, whose number is zero, for a process that has a number.
        let found = getsockopt(&socket, PeerCredentials).map_err(io::Error::from)?;
        let process = u32::try_from(found.pid()).ok().filter(|&process| process != 0);
        Ok(Self { user: found.uid(), group: found.gid(), process })
    }
}
