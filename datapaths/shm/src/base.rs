//! The bottom of a connection through shared memory.

use crate::Credentials;
use crate::address::NAME;
use bertha_core::{Addr, Base, Error, ErrorKind, Headroom, PeerIdentity, Properties};
use bertha_runtime::tokio::TokioRuntime;

/// The [`Base`] of connections through shared memory. Buffers come from the pool of the process.
#[derive(Debug)]
pub struct ShmBase {
    runtime: TokioRuntime,
    headroom: Headroom,
    mtu: usize,
    local: Addr,
    peer: Addr,
    /// The owner of the peer process.
    owner: Credentials,
}

impl ShmBase {
    pub(crate) fn new(mtu: usize, local: Addr, peer: Addr, owner: Credentials) -> Self {
        Self { runtime: TokioRuntime, headroom: Headroom::new(), mtu, local, peer, owner }
    }

    #[cold]
    pub(crate) fn too_large(&self, len: usize) -> Error {
        let what = format!(
            "message of {len} bytes to {}, at most {} fit: an eighth of the ring, which `ring` sets",
            self.peer, self.mtu
        );
        Error::new(ErrorKind::TooLarge, what).at(NAME)
    }

    #[cold]
    pub(crate) fn ended(&self, kind: ErrorKind, reason: &str) -> Error {
        Error::new(kind, format!("{reason}, on the connection to {}", self.peer)).at(NAME).ending_connection()
    }
}

impl Base for ShmBase {
    type Runtime = TokioRuntime;

    fn runtime(&self) -> &TokioRuntime {
        &self.runtime
    }

    #[inline]
    fn headroom(&self) -> &Headroom {
        &self.headroom
    }

    fn mtu(&self) -> usize {
        self.mtu
    }

    fn local_addr(&self) -> Addr {
        self.local.clone()
    }

    fn peer_addr(&self) -> Addr {
        self.peer.clone()
    }

    fn peer_identity(&self) -> Option<PeerIdentity> {
        let Credentials { user, group, .. } = self.owner;
        Some(PeerIdentity::Process { user, group })
    }

    fn properties(&self) -> Properties {
        Properties::STREAM
    }

    /// The ring is the peer's memory, too.
    fn delivers_alone(&self) -> bool {
        true
    }
}
