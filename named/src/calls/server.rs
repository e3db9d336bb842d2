//! Services over any datapath, with any stack, as one type.

use super::ArrivedCall;
use bertha::Addr;
use bertha::local::Registration;
use bertha::rpc::Shutdown;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::sync::mpsc::Receiver;
use tokio::task::JoinSet;

/// A service over any datapath, with any stack: the calls of all its clients. Dropping it ends them.
pub struct AnyServer {
    pub(super) address: Addr,
    pub(super) calls: Receiver<ArrivedCall>,
    pub(super) end: ServerEnd,
    /// The entry in the directory of the machine.
    pub(super) _registration: Option<Registration>,
    /// The task that accepts clients, and all that it has begun.
    pub(super) _accepting: JoinSet<()>,
}

impl AnyServer {
    /// Returns the address at which the service listens.
    pub fn local_address(&self) -> &Addr {
        &self.address
    }

    /// Waits for the next call; `None` once the service has ended and its last call was taken. Cancellation-safe.
    ///
    /// Calls that wait here are at most 64; further ones wait at their connections, up to 1,024 of each.
    pub async fn next(&mut self) -> Option<ArrivedCall> {
        loop {
            let call = self.calls.recv().await?;
            if !call.is_cancelled() {
                return Some(call);
            }
        }
    }

    /// Begins to end the service, as [`ServerEnd::begin`].
    pub fn shut_down(&self, grace: Duration) {
        self.end.begin(grace);
    }

    /// Returns a handle that ends the service, for any task.
    pub fn server_end(&self) -> ServerEnd {
        self.end.clone()
    }
}

/// Ends a service. Clones are one handle.
#[derive(Debug, Clone, Default)]
pub struct ServerEnd {
    pub(super) shutdown: Shutdown,
    /// Tells the task that accepts clients to end.
    pub(super) leaving: Arc<Notify>,
}

impl ServerEnd {
    /// Begins to end the service: no client is accepted, clients make no further calls, and those under way have this long. Then
    /// [`AnyServer::next`] returns `None`.
    pub fn begin(&self, grace: Duration) {
        self.shutdown.begin(grace);
        self.leaving.notify_one();
    }
}

impl fmt::Debug for AnyServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyServer").field("address", &self.address).finish_non_exhaustive()
    }
}
