//! Accepting connections at a port.

use crate::demux::Owner;
use crate::device::Device;
use crate::visit::Visit;
use crate::{Counters, DpdkConnection};
use bertha_core::{Addr, Error, Listener};
use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;

/// Accepts the connections of whoever sends to a UDP port.
///
/// At most 1,024 wait to be accepted; what strangers send beyond that is dropped and counted. Dropping it ends accepting; its
/// connections live on, and the port is in use as long as they do.
pub struct DpdkListener {
    device: Arc<Device>,
    acceptor: usize,
    local: SocketAddr,
}

impl DpdkListener {
    pub(crate) fn new(device: Arc<Device>, acceptor: usize, local: SocketAddr) -> Self {
        Self { device, acceptor, local }
    }

    /// What was dropped so far, over all connections of the port.
    pub fn dropped(&self) -> Counters {
        self.device.counters()
    }
}

impl Listener for DpdkListener {
    type Connection = DpdkConnection;

    async fn accept(&self) -> Result<DpdkConnection, Error> {
        let mut visit = Visit::new(&self.device, Owner::Acceptor(self.acceptor));
        let (slot, peer) = poll_fn(|cx| visit.poll(cx, |state| state.demux.accept(self.acceptor))).await;
        drop(visit);
        Ok(DpdkConnection::new(self.device.clone(), slot, self.local.port(), peer))
    }

    fn local_addr(&self) -> Addr {
        self.local.into()
    }
}

impl Drop for DpdkListener {
    fn drop(&mut self) {
        self.device.lock().demux.stop_listening(self.acceptor);
    }
}

impl fmt::Debug for DpdkListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DpdkListener").field("local", &self.local).finish_non_exhaustive()
    }
}
