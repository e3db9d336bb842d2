//! The connection of a server that routes.

use super::backends::Link;
use super::routed::Routed;
use bertha_core::{BoxFuture, Connection, Error, ErrorKind, debug_fields, forward};
use futures_util::future::join_all;
use std::fmt::Debug;
use std::sync::Arc;
use tokio::sync::Mutex;

/// The connection of [`ServerShard`](super::ServerShard) at the server.
///
/// `recv` and `recv_batch` route, and return the error that ends the routing. Requests and replies in transit
/// stay in the connection, so dropping such a future loses none; the next call continues. `send` goes to the
/// client.
///
/// While a shard can't take requests, none are received from the client, and they wait in the connection
/// below. A request that is too large for its shard, or a reply that is too large for the client, is dropped
/// and counted.
pub struct ServerShardConnection<Inner> {
    client: Arc<Inner>,
    shards: Arc<[Inner]>,
    /// A future that outlives each `recv`: the next `recv` continues where a dropped `recv` stopped.
    routing: Mutex<Routing>,
    routed: Arc<Routed>,
}

enum Routing {
    Running(BoxFuture<'static, Error>),
    Ended { kind: ErrorKind, chunnel: Option<&'static str>, context: String },
}

impl<Inner: Connection> ServerShardConnection<Inner> {
    pub(in crate::shard) fn new(client: Arc<Inner>, link: Link<Inner>, routed: Arc<Routed>) -> Self {
        let Link { shards, routing } = link;
        let orphans = shards.clone();
        let running = Box::pin(async move {
            let error = routing.await;
            // The connections are closed at once, so that the shards need no time-out for a client that has
            // gone.
            join_all(orphans.iter().map(Connection::close)).await;
            error
        });
        Self { client, shards, routing: Mutex::new(Routing::Running(running)), routed }
    }

    /// Returns the number of requests and replies that were dropped: too large for the next hop, without a
    /// key, or beyond the client's queue of replies.
    pub fn dropped(&self) -> u64 {
        self.routed.dropped.get()
    }

    async fn route(&self) -> Error {
        self.routing.lock().await.until_end().await
    }
}

impl Routing {
    async fn until_end(&mut self) -> Error {
        match self {
            Self::Running(running) => {
                let error = running.await.ending_connection();
                let kind = error.kind();
                let chunnel = error.chunnel();
                let context = error.context().to_owned();
                *self = Self::Ended { kind, chunnel, context };
                error
            }
            Self::Ended { kind, chunnel, context } => {
                let error = Error::new(*kind, context.clone()).ending_connection();
                match *chunnel {
                    Some(chunnel) => error.at(chunnel),
                    None => error,
                }
            }
        }
    }
}

impl<Inner: Connection> Connection for ServerShardConnection<Inner> {
    type Data = Inner::Data;
    type Base = Inner::Base;

    forward!(self.client => base, mtu, send, send_batch);

    async fn recv(&self) -> Result<Inner::Data, Error> {
        Err(self.route().await)
    }

    async fn recv_batch(
        &self,
        _: &mut (impl Extend<Inner::Data> + Send),
        limit: usize,
    ) -> Result<usize, Error> {
        if limit == 0 {
            return Ok(0);
        }
        Err(self.route().await)
    }

    async fn drain(&self) -> Result<(), Error> {
        let drained = self.client.drain().await;
        let shards = join_all(self.shards.iter().map(Connection::drain)).await;
        shards.into_iter().fold(drained, Result::and)
    }

    /// Closes the connection to the client and the connections to its shards. Messages in transit between
    /// them are dropped.
    async fn close(&self) -> Result<(), Error> {
        let closed = self.client.close().await;
        let shards = join_all(self.shards.iter().map(Connection::close)).await;
        shards.into_iter().fold(closed, Result::and)
    }
}

debug_fields!(ServerShardConnection<Inner: Debug> { client, shards, routed });
