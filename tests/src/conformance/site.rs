//! Where a datapath is checked.

use super::delivery::receive;
use super::timeout::succeeds;
use super::{Bufs, Messages};
use bertha_core::{Addr, Connection, Datapath, Listener};
use std::fmt;

/// A datapath to listen on, one to connect from (the same, perhaps), and an address that is free each time it is
/// asked for.
pub struct Site<'a, S, C> {
    /// The datapath that listens.
    pub server: &'a S,
    /// The datapath that connects.
    pub client: &'a C,
    /// An address that the server can listen on. Port 0 will do.
    pub on: &'a (dyn Fn() -> Addr + Sync),
}

impl<S: Datapath, C: Datapath> Site<'_, S, C> {
    /// A new listener.
    pub async fn listen(&self) -> S::Listener {
        let on = (self.on)();
        self.server.listen(on.clone()).await.unwrap_or_else(|error| panic!("listen on {on}: {error}"))
    }

    /// A new connection to `listener`.
    pub async fn connect(&self, listener: &S::Listener) -> C::Connection {
        let to = listener.local_addr();
        self.client.connect(to.clone()).await.unwrap_or_else(|error| panic!("connect to {to}: {error}"))
    }

    /// A new connection with both its ends, which know each other. Its listener is gone.
    pub async fn connected(&self) -> (C::Connection, S::Connection) {
        let listener = self.listen().await;
        self.join(&listener).await
    }

    /// A new connection to `listener`, with both its ends.
    pub async fn join(&self, listener: &S::Listener) -> (C::Connection, S::Connection) {
        let client = self.connect(listener).await;
        succeeds(&client, "first send", client.send(Bufs.make(&client, 0))).await;
        let server = succeeds(&client, "accept", listener.accept()).await;
        assert_eq!(receive(&server, &Bufs).await, 0, "the message that made the connection");
        (client, server)
    }
}

impl<S, C> fmt::Debug for Site<'_, S, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Site").field("on", &(self.on)()).finish_non_exhaustive()
    }
}
