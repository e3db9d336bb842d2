//! The end of a server that takes no further calls.

use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch::{Receiver, Sender};

/// Shuts a server down: of one connection, or of all connections that are [served until](super::Serve::until) it. Clones are
/// one handle.
///
/// Once it has [begun](Self::begin), each connection tells its client, which then makes no further calls over it: a
/// [`Reconnecting`](crate::rpc::Reconnecting) client connects anew. Calls that were on their way fail with
/// [`Unavailable`](crate::rpc::FailureKind::Unavailable) and have not run. Calls under way end as they would otherwise, and
/// the client closes the connection after the last. Calls that are left when the grace is over are cancelled, fail with
/// `Unavailable`, and may have run; then the server closes.
///
/// ```
/// # use bertha_chunnels::rpc::{Message, Service, Shutdown, serve};
/// # use bertha_core::Connection;
/// # use std::time::Duration;
/// # async fn example(connection: impl Connection<Data = Message>, service: impl Service) {
/// let shutdown = Shutdown::new();
/// let serving = serve(connection, service).until(&shutdown);
/// # let spawn = |_| {};
/// spawn(serving.into_future());
/// // At the end, after the last connection was accepted:
/// shutdown.begin(Duration::from_secs(10));
/// shutdown.ended().await;
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Shutdown(Arc<Sender<Option<Duration>>>);

impl Shutdown {
    /// Makes a handle.
    pub fn new() -> Self {
        Self(Arc::new(Sender::new(None)))
    }

    /// Begins to shut down. Calls under way have this long, by the clocks of their connections' runtimes. Connections
    /// that are served later shut down at once. A second call has no effect on connections that shut down already.
    pub fn begin(&self, grace: Duration) {
        self.0.send_replace(Some(grace));
    }

    /// Returns true once it has begun.
    pub fn has_begun(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// Waits until no connection is left that is served until this handle, whether it has begun or not. Cancellation-safe.
    pub async fn ended(&self) {
        self.0.closed().await;
    }

    pub(in crate::rpc) fn watched(&self) -> Watched {
        Watched(self.0.subscribe())
    }
}

impl Default for Shutdown {
    fn default() -> Self {
        Self::new()
    }
}

/// The end of a handle at a connection, which lasts as long as the connection is served.
#[derive(Debug)]
pub(in crate::rpc) struct Watched(Receiver<Option<Duration>>);

impl Watched {
    /// Waits until the shutdown begins, and returns the grace. Never ready without handles. Cancellation-safe.
    pub(in crate::rpc) async fn begun(&mut self) -> Duration {
        let begun = self.0.wait_for(Option::is_some).await.ok().and_then(|grace| *grace);
        match begun {
            Some(grace) => grace,
            None => std::future::pending().await,
        }
    }
}
