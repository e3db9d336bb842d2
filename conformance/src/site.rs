//! The place where a datapath is checked.

use super::delivery::receive;
use super::timeout::succeeds;
use super::{Bufs, Messages};
use bertha_core::{Addr, Connection, Datapath, Listener};
use std::fmt;

/// A datapath to listen on, a datapath to connect from (perhaps the same datapath), and a source of
/// addresses, each of which is free when it is asked for.
pub struct Site<'a, S, C> {
    /// The datapath that listens.
    pub server: &'a S,
    /// The datapath that connects.
    pub client: &'a C,
    /// Returns an address that the server can listen on. Port 0 is permitted.
    pub on: &'a (dyn Fn() -> Addr + Sync),
}

impl<S: Datapath, C: Datapath> Site<'_, S, C> {
    /// Returns a new listener.
    pub async fn listen(&self) -> S::Listener {
        let on = (self.on)();
        self.server.listen(on.clone()).await.unwrap_or_else(|error| panic!("listen on {on}: {error}"))
    }

    /// Returns a new connection to `listener`.
    pub async fn connect(&self, listener: &S::Listener) -> C::Connection {
        let to = listener.local_addr();
        self.client.connect(to.clone()).await.unwrap_or_else(|error| panic!("connect to {to}: {error}"))
    }

    /// Returns both ends of a new connection, which know each other. The connection's listener is gone.
    pub async fn connected(&self) -> (C::Connection, S::Connection) {
        let listener = self.listen().await;
        self.join(&listener).await
    }

    /// Returns both ends of a new connection to `listener`.
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
