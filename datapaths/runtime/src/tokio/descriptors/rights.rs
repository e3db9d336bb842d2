//! Sockets that take no descriptors.

use nix::sys::socket::setsockopt;
use nix::{errno::Errno, libc, setsockopt_impl, sockopt_impl};
use std::io;
use std::os::fd::AsFd;

/// The option's number, which is newer than the constants of the crates.
const SO_PASSRIGHTS: libc::c_int = 83;

sockopt_impl!(
    /// Lets a Unix socket receive descriptors.
    PassRights,
    SetOnly,
    libc::SOL_SOCKET,
    SO_PASSRIGHTS,
    bool
);

/// Lets a Unix socket receive no descriptors from now on: a peer that attaches one gets `EPERM`. Connections that a listening socket
/// accepts inherit that. A Linux before 6.16 does not know the option and lets the socket as it is.
///
/// # Errors
/// The errors of the system, for a socket that is no Unix socket.
pub fn refuse(socket: impl AsFd) -> io::Result<()> {
    match setsockopt(&socket, PassRights, &false) {
        Ok(()) | Err(Errno::ENOPROTOOPT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
