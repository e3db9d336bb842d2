//! The connection of a client that routes.

use super::race::first;
use crate::shard::sorter::Sorter;
use crate::shard::{Keyed, ShardMap, failure};
use bertha_core::{Connection, Error, debug_fields, forward};
use futures_util::future::join_all;
use parking_lot::Mutex;
use std::fmt::Debug;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The connection of [`ClientShard`](super::ClientShard) at the client: one connection to every shard.
///
/// `send` goes to the shard of the message's key; `recv` takes from the shards in turn. An error names its
/// shard. After an error that ends the connection to a shard the other connections still work.
///
/// # Bursts
/// `send_batch` sorts up to 256 messages at a time by shard and sends each shard its part in one burst. Order
/// is kept among messages of one shard. After an error, or if its future is dropped, some first part of each
/// shard's messages was sent, and the rest of the 256 messages is dropped.
pub struct ClientShardConnection<Inner: Connection> {
    main: Inner,
    shards: Vec<Inner>,
    /// The shard that the next `recv` polls first.
    turn: AtomicUsize,
    sorter: Sorter<Inner::Data>,
}

impl<Inner: Connection<Data: Keyed>> ClientShardConnection<Inner> {
    /// Makes the connection. `shards` are connections to the shards of `map`, in order.
    pub(super) fn new(main: Inner, shards: Vec<Inner>, map: ShardMap) -> Self {
        Self { main, shards, turn: AtomicUsize::new(0), sorter: Sorter::new(map) }
    }

    #[cold]
    fn failed(&self, shard: usize, error: Error) -> Error {
        failure::of_shard("ClientShard", shard, &self.sorter.map().shards()[shard], error)
    }

    async fn first<F: Future<Output = Result<R, Error>>, R>(&self, make: impl Fn(usize) -> F) -> F::Output {
        let (shard, result) = first(self.shards.len(), self.turn.load(Relaxed), make).await;
        // Concurrent calls may store the same value; shards still take turns.
        self.turn.store((shard + 1) % self.shards.len(), Relaxed);
        result.map_err(|error| self.failed(shard, error))
    }
}

impl<Inner: Connection<Data: Keyed>> Connection for ClientShardConnection<Inner> {
    type Data = Inner::Data;
    type Base = Inner::Base;

    // The base of the connection to the server. The connections to the shards have bases of their own.
    forward!(self.main => base, mtu);

    async fn send(&self, message: Inner::Data) -> Result<(), Error> {
        let shard = self.sorter.map().shard_of(message.key());
        self.shards[shard].send(message).await.map_err(|error| self.failed(shard, error))
    }

    async fn recv(&self) -> Result<Inner::Data, Error> {
        self.first(|shard| self.shards[shard].recv()).await
    }

    async fn send_batch(&self, messages: impl Iterator<Item = Inner::Data> + Send) -> Result<(), Error> {
        // With one shard there is nothing to sort.
        if let [only] = &self.shards[..] {
            return only.send_batch(messages).await.map_err(|error| self.failed(0, error));
        }
        let sent = self.sorter.send(messages, |shard| &self.shards[shard]).await;
        sent.map_err(|failed| self.failed(failed.shard, failed.error))
    }

    async fn recv_batch(
        &self,
        into: &mut (impl Extend<Inner::Data> + Send),
        limit: usize,
    ) -> Result<usize, Error> {
        if limit == 0 {
            return Ok(0);
        }
        if let [only] = &self.shards[..] {
            return only.recv_batch(into, limit).await.map_err(|error| self.failed(0, error));
        }
        // All shards push into the same collection. One connection is polled at a time, so the lock is never
        // contended; it makes the sharing safe.
        let into = &Mutex::new(into);
        self.first(|shard| async move { self.shards[shard].recv_batch(&mut SharedInto(into), limit).await })
            .await
    }

    async fn drain(&self) -> Result<(), Error> {
        let shards = join_all(self.shards.iter().map(Connection::drain)).await;
        shards.into_iter().fold(self.main.drain().await, Result::and)
    }

    async fn close(&self) -> Result<(), Error> {
        let shards = join_all(self.shards.iter().map(Connection::close)).await;
        let main = self.main.close().await;
        let mut failures = shards
            .into_iter()
            .enumerate()
            .filter_map(|(shard, closed)| Some(self.failed(shard, closed.err()?)));
        failures.next().map_or(main, Err)
    }
}

/// Pushes messages into a collection that several futures share.
struct SharedInto<'a, Into>(&'a Mutex<Into>);

impl<T, Into: Extend<T>> Extend<T> for SharedInto<'_, &mut Into> {
    fn extend<Messages: IntoIterator<Item = T>>(&mut self, messages: Messages) {
        self.0.lock().extend(messages);
    }
}

debug_fields!(ClientShardConnection<Inner: Connection + Debug> { main, shards, sorter });
