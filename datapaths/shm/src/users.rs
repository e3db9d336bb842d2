//! The users with whom a process shares memory.

use bertha_core::{Error, ErrorKind};
use bertha_runtime::tokio::Credentials;

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
