//! The bottom of a connection through shared memory.

use crate::address::NAME;
use bertha_core::{Addr, Base, Error, ErrorKind, Headroom, Properties};
use bertha_runtime::tokio::TokioRuntime;

/// The [`Base`] of connections through shared memory. Buffers come from the pool of the process.
#[derive(Debug)]
pub struct ShmBase {
    runtime: TokioRuntime,
    headroom: Headroom,
    mtu: usize,
    local: Addr,
    peer: Addr,
}

impl ShmBase {
    pub(crate) fn new(mtu: usize, local: Addr, peer: Addr) -> Self {
        Self { runtime: TokioRuntime, headroom: Headroom::new(), mtu, local, peer }
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

    fn properties(&self) -> Properties {
        Properties::STREAM
    }
}
