//! A simulated listener.

use super::{Network, SimConnection};
use crate::queue::{Ending, Queue};
use bertha_core::{Addr, Error, ErrorKind, Listener};
use std::net::SocketAddr;
use std::sync::Arc;

/// Connections that wait to be accepted.
pub(super) type Backlog = Arc<Queue<SimConnection>>;

/// A listener at an address of a simulated host.
///
/// Dropping it closes the port for new peers; accepted connections go on, connections in the backlog are
/// dropped.
pub struct SimListener {
    pub(super) network: Network,
    pub(super) local: SocketAddr,
    pub(super) backlog: Backlog,
}

impl Listener for SimListener {
    type Connection = SimConnection;

    fn accept(&self) -> impl Future<Output = Result<SimConnection, Error>> + Send {
        self.backlog.pop()
    }

    fn local_addr(&self) -> Addr {
        Addr::Ip(self.local)
    }
}

impl Drop for SimListener {
    fn drop(&mut self) {
        const GONE: Ending = Ending { kind: ErrorKind::Closed, context: "the listener is gone" };
        self.network.unbind(self.local, &self.backlog);
        self.network.state().streams.unlisten(self.local, &self.backlog);
        drop(self.backlog.end_now(GONE));
    }
}

bertha_core::debug_fields!(SimListener { local });
