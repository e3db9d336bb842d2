//! The congestion marks that have arrived.

use super::Network;
use bertha_core::EcnMarks;
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// The marks of the connections that count them, by their own address and the address of their peer.
#[derive(Debug, Default)]
pub(super) struct Marked {
    connections: BTreeMap<(SocketAddr, SocketAddr), EcnMarks>,
}

impl Marked {
    /// Counts a marked datagram of `len` bytes that arrives at `local` from `peer`.
    pub(super) fn on_marked(&mut self, local: SocketAddr, peer: SocketAddr, len: usize) {
        if let Some(marks) = self.connections.get_mut(&(local, peer)) {
            marks.add(1, len as u64);
        }
    }

    /// Removes a connection.
    pub(super) fn forget(&mut self, local: SocketAddr, peer: SocketAddr) {
        self.connections.remove(&(local, peer));
    }
}

impl Network {
    /// Begins to count the marks of a connection.
    pub(super) fn count_marks(&self, local: SocketAddr, peer: SocketAddr) {
        self.state().marks.connections.entry((local, peer)).or_default();
    }

    /// Returns the marks of a connection.
    pub(super) fn marks(&self, local: SocketAddr, peer: SocketAddr) -> EcnMarks {
        self.state().marks.connections.get(&(local, peer)).copied().unwrap_or_default()
    }
}
