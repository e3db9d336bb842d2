//! The owner of the peer process.

use bertha_core::{Error, ErrorKind};
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
        let found = getsockopt(&socket, PeerCredentials).map_err(io::Error::from)?;
        let process = u32::try_from(found.pid()).ok().filter(|&process| process != 0);
        Ok(Self { user: found.uid(), group: found.gid(), process })
    }
}

/// The users whose processes a process shares memory with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Users {
    /// The effective user of this process, and root, who may do anything to it. This is the default.
    #[default]
    Same,
    /// The users with these numbers. Root and the process's own user need to be named, too.
    Only(Vec<u32>),
    /// Every user that may open the socket; the rights of its folder are the only limit. A name in the
    /// abstract namespace has no such limit.
    Any,
}

impl Users {
    /// Returns true if this user is among the users.
    pub fn contain(&self, user: u32) -> bool {
        match self {
            Self::Same => user == 0 || user == rustix::process::geteuid().as_raw(),
            Self::Only(users) => users.contains(&user),
            Self::Any => true,
        }
    }

    /// Refuses the peer unless its user is among the users.
    pub(crate) fn check(&self, peer: &Credentials) -> Result<(), Error> {
        if self.contain(peer.user) {
            return Ok(());
        }
        let what = format!(
            "a process of user {} is at the other end, with which no memory is shared; `users` says with which it is",
            peer.user
        );
        Err(Error::new(ErrorKind::Unauthenticated, what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_told_apart() {
        let own = rustix::process::geteuid().as_raw();
        assert!(Users::Same.contain(own) && Users::Same.contain(0) && !Users::Same.contain(own + 77));
        assert!(Users::Only(vec![7]).contain(7) && !Users::Only(vec![7]).contain(0));
        assert!(Users::Any.contain(7));
    }
}
