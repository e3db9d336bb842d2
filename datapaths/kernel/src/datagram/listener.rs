//! Acceptance of connections over datagrams.

use super::steered::Group;
use super::{DatagramConnection, DatagramSocket};
use crate::Waiting;
use crate::endpoint::{Counters, Endpoint};
use bertha_core::{Addr, Error, ErrorKind, Listener, Properties, STEERED_PREFIX, Siblings, Steering};
use bertha_runtime::polling::Limits;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// A listening socket, with a connection to each peer that sends to it.
///
/// No task demultiplexes: any `accept`, `recv` or `recv_batch` that is polled receives for all connections,
/// keeps its own messages and wakes the futures of the other messages. So while such futures wait, at least
/// the woken future has to be polled: a future that was polled, kept and never polled again may hold up the
/// other futures.
///
/// Dropping the listener ends accepting; its connections live on.
pub struct DatagramListener<S: DatagramSocket> {
    endpoint: Arc<Endpoint<S>>,
    limits: Limits,
    waiting: Waiting,
    /// The sockets of shards, if messages are steered.
    group: OnceLock<Arc<Group<S>>>,
}

impl<S: DatagramSocket> DatagramListener<S> {
    pub(crate) fn new(endpoint: Arc<Endpoint<S>>, limits: Limits, waiting: Waiting) -> Self {
        Self { endpoint, limits, waiting, group: OnceLock::new() }
    }

    /// Opens a connection to a peer; fails if there is one.
    pub(crate) fn open(&self, peer: S::Peer) -> Result<DatagramConnection<S>, Error> {
        let slot = self.endpoint.connect(peer.clone()).ok_or_else(|| {
            Error::new(ErrorKind::AddrInUse, "the listener has a connection to this peer").at(S::NAME)
        })?;
        Ok(self.connection(slot, &peer))
    }

    fn connection(&self, slot: usize, peer: &S::Peer) -> DatagramConnection<S> {
        let socket = self.endpoint.socket();
        let remote = socket.remote(peer);
        let base = socket.base(peer, &remote);
        DatagramConnection::new(self.endpoint.clone(), slot, base, remote)
    }

    /// Returns the number of messages dropped so far, over all connections.
    pub fn dropped(&self) -> Counters {
        self.endpoint.counters()
    }
}

impl<S: DatagramSocket> Listener for DatagramListener<S> {
    type Connection = DatagramConnection<S>;

    async fn accept(&self) -> Result<Self::Connection, Error> {
        let (slot, peer) = self.endpoint.accept().await.map_err(|error| error.at(S::NAME))?;
        Ok(self.connection(slot, &peer))
    }

    fn local_addr(&self) -> Addr {
        self.endpoint.socket().local_addr()
    }

    fn properties(&self) -> Option<Properties> {
        Some(S::PROPERTIES)
    }

    fn steer(&self, by: &Steering) -> Result<(), Error> {
        let steered = self.endpoint.socket().steer(by)?;
        self.group.get_or_init(|| Arc::new(Group::new(steered, self.limits, self.waiting)));
        Ok(())
    }

    fn siblings(
        &self,
        connection: &Self::Connection,
        prefix: [u8; STEERED_PREFIX],
    ) -> Result<Siblings<Self::Connection>, Error> {
        let Some(group) = self.group.get() else {
            return Err(Error::new(ErrorKind::Unavailable, "the listener steers no messages").at(S::NAME));
        };
        Ok(group.siblings(&connection.peer(), prefix))
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
