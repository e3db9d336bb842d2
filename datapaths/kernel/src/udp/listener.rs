//! Accepting UDP connections.

use super::socket::UdpSocket;
use super::{NAME, UdpConnection, base};
use crate::Counters;
use crate::endpoint::Endpoint;
use bertha_core::{Addr, Error, Listener};
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

/// One UDP socket, and the connections to all who send to it.
///
/// There is no task that demultiplexes: whichever `accept`, `recv` or `recv_batch` is polled receives for all, keeps
/// what is its own and wakes the others. So while futures of them wait, at least one has to be polled when it is
/// woken; one that was polled, kept and never polled again may hold up the others.
///
/// A socket on several addresses (`0.0.0.0`) answers from the one that the routing table prefers. Where a host has
/// several, listen on each of them.
///
/// Dropping it ends accepting; its connections live on.
pub struct UdpListener {
    endpoint: Arc<Endpoint<UdpSocket>>,
    local: SocketAddr,
}

impl UdpListener {
    pub(super) fn new(endpoint: Arc<Endpoint<UdpSocket>>, local: SocketAddr) -> Self {
        Self { endpoint, local }
    }

    /// What was dropped so far, over all connections.
    pub fn dropped(&self) -> Counters {
        self.endpoint.counters()
    }
}

impl Listener for UdpListener {
    type Connection = UdpConnection;

    async fn accept(&self) -> Result<UdpConnection, Error> {
        let (slot, peer) = self.endpoint.accept().await.map_err(|error| error.at(NAME))?;
        Ok(UdpConnection::new(self.endpoint.clone(), slot, base(self.local, peer), Some(peer)))
    }

    fn local_addr(&self) -> Addr {
        self.local.into()
    }
}

impl Drop for UdpListener {
    fn drop(&mut self) {
        self.endpoint.stop_accepting();
    }
}

impl fmt::Debug for UdpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UdpListener").field("local", &self.local).finish_non_exhaustive()
    }
}
