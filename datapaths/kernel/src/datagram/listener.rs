//! Accepting connections over datagrams.

use super::{DatagramConnection, DatagramSocket};
use crate::endpoint::{Counters, Endpoint};
use bertha_core::{Addr, Error, Listener, Properties};
use std::fmt;
use std::sync::Arc;

/// One socket, and a connection to each peer that sends to it.
///
/// There is no task that demultiplexes: any `accept`, `recv` or `recv_batch` that is polled receives for all, keeps
/// its own messages and wakes the others. So while futures of them wait, at least one has to be polled when it is
/// woken; one that was polled, kept and never polled again may hold up the others.
///
/// Dropping it ends accepting; its connections live on.
pub struct DatagramListener<S: DatagramSocket> {
    endpoint: Arc<Endpoint<S>>,
}

impl<S: DatagramSocket> DatagramListener<S> {
    pub(crate) fn new(endpoint: Arc<Endpoint<S>>) -> Self {
        Self { endpoint }
    }

    /// The messages that were dropped so far, over all connections.
    pub fn dropped(&self) -> Counters {
        self.endpoint.counters()
    }
}

impl<S: DatagramSocket> Listener for DatagramListener<S> {
    type Connection = DatagramConnection<S>;

    async fn accept(&self) -> Result<Self::Connection, Error> {
        let (slot, peer) = self.endpoint.accept().await.map_err(|error| error.at(S::NAME))?;
        let socket = self.endpoint.socket();
        let remote = socket.remote(&peer);
        let base = socket.base(&peer, &remote);
        Ok(DatagramConnection::new(self.endpoint.clone(), slot, base, remote))
    }

    fn local_addr(&self) -> Addr {
        self.endpoint.socket().local_addr()
    }

    fn properties(&self) -> Option<Properties> {
        Some(S::PROPERTIES)
    }
}

impl<S: DatagramSocket> Drop for DatagramListener<S> {
    fn drop(&mut self) {
        self.endpoint.stop_listening();
    }
}

impl<S: DatagramSocket> fmt::Debug for DatagramListener<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DatagramListener").field("local", &self.local_addr()).finish_non_exhaustive()
    }
}
