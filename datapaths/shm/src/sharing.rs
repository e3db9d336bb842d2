//! The steps from a connected socket to a connection through shared memory.

use crate::address::{self, NAME};
use crate::connection::{At, ShmConnection};
use crate::handshake;
use crate::ring::{Direction, Layout};
use crate::{Users, Waiting};
use bertha_core::{Addr, Error, ErrorKind};
use bertha_runtime::tokio::descriptors::Aside;
use tokio::net::UnixStream;

/// The settings of the datapath.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) waiting: Waiting,
    pub(crate) users: Users,
    /// Size of a ring in bytes.
    pub(crate) ring: usize,
    /// The bytes of the largest ring that is taken, unless four times the own one.
    pub(crate) largest_ring: Option<usize>,
}

impl Settings {
    /// Performs the client's half of the handshake.
    pub(crate) async fn offer(&self, socket: UnixStream, peer: Addr) -> Result<ShmConnection, Error> {
        let socket = Aside::new(socket);
        let layout = Layout::new(self.ring).ok_or_else(|| {
            let what =
                format!("a ring of {} bytes: the size is a power of two from 4 KiB to 64 MiB", self.ring);
            Error::new(ErrorKind::Invalid, what).at(NAME)
        })?;
        let shared = handshake::offer(&socket, layout, &self.users).await.map_err(|error| error.at(NAME))?;
        let at = At { waiting: self.waiting, local: address::of(&socket)?, peer };
        Ok(ShmConnection::new(socket, shared, Direction::FromClient, at)?)
    }

    /// Refuses the process at the other end of a socket, unless memory is shared with its user. Does not wait.
    pub(crate) fn admit(&self, socket: &UnixStream) -> Result<(), Error> {
        handshake::admit(socket, &self.users).map(drop).map_err(|error| error.at(NAME))
    }

    fn largest(&self) -> Layout {
        Layout::at_most(self.largest_ring.unwrap_or_else(|| self.ring.saturating_mul(4)))
    }

    /// The server's half of it.
    pub(crate) async fn take(&self, socket: Aside<UnixStream>) -> Result<ShmConnection, Error> {
        let shared =
            handshake::take(&socket, &self.users, self.largest()).await.map_err(|error| error.at(NAME))?;
        let local = address::of(&socket)?;
        let peer = address::of_peer(&socket)?;
        let at = At { waiting: self.waiting, local, peer };
        Ok(ShmConnection::new(socket, shared, Direction::FromServer, at)?)
    }
}
