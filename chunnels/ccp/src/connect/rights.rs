//! A socket that takes no descriptors.

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

/// Lets a Unix socket receive no descriptors, whose last close might wait. A Linux before 6.16 does not know the option; there the thread
/// that receives from the agent may wait.
pub(super) fn refuse(socket: impl AsFd) -> io::Result<()> {
    match setsockopt(&socket, PassRights, &false) {
        Ok(()) | Err(Errno::ENOPROTOOPT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
