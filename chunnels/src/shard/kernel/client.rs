//! The connection of a client whose server's kernel routes.

use crate::shard::parts::Parts;
use crate::shard::{BURST, Keyed, ShardMap};
use bertha_core::{Connection, Error, debug_fields, forward};
use parking_lot::Mutex;
use std::fmt::Debug;

/// The connection of [`KernelShard`](super::KernelShard) at the client.
///
/// # Bursts
/// `send_batch` sorts up to 256 messages at a time by shard and sends each shard's part in one burst, so that
/// no messages of two shards leave as one segmented datagram. Order is kept among messages of one shard. After
/// an error, or if its future is dropped, some first part of the messages was sent, and the rest of the 256
/// messages is dropped.
pub struct KernelShardConnection<Inner: Connection> {
    inner: Inner,
    map: ShardMap,
    /// The queues in which `send_batch` sorts. It takes them out and puts them back, so that bursts allocate
    /// nothing and no lock is held across an await; if two calls run at once, the second call allocates its
    /// own queues.
    parts: Mutex<Option<Parts<Inner::Data>>>,
}

impl<Inner: Connection<Data: Keyed>> KernelShardConnection<Inner> {
    pub(super) fn new(inner: Inner, map: ShardMap) -> Self {
        Self { inner, map, parts: Mutex::new(None) }
    }

    async fn send_parts(&self, parts: &mut Parts<Inner::Data>) -> Result<(), Error> {
        while let Some((_, messages)) = parts.next_part() {
            self.inner.send_batch(messages).await?;
        }
        Ok(())
    }
}

impl<Inner: Connection<Data: Keyed>> Connection for KernelShardConnection<Inner> {
    type Data = Inner::Data;
    type Base = Inner::Base;

    forward!(self.inner => base, mtu, send, recv, recv_batch, drain, close);

    async fn send_batch(&self, mut messages: impl Iterator<Item = Inner::Data> + Send) -> Result<(), Error> {
        // With one shard there is nothing to sort.
        if self.map.shards().len() == 1 {
            return self.inner.send_batch(messages).await;
        }
        let kept = self.parts.lock().take();
        let mut parts = kept.unwrap_or_else(|| Parts::new(self.map.clone()));
        let mut result = Ok(());
        while result.is_ok() {
            parts.extend(messages.by_ref().take(BURST));
            if parts.is_empty() {
                break;
            }
            result = self.send_parts(&mut parts).await;
        }
        parts.clear();
        *self.parts.lock() = Some(parts);
        result
    }
}

debug_fields!(KernelShardConnection<Inner: Connection + Debug> { inner, map });
