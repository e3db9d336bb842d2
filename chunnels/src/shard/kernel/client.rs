//! The connection of a client whose server's kernel routes.

use crate::shard::sorter::Sorter;
use crate::shard::{Keyed, ShardMap};
use bertha_core::{Connection, Error, debug_fields, forward};
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
    sorter: Sorter<Inner::Data>,
}

impl<Inner: Connection<Data: Keyed>> KernelShardConnection<Inner> {
    pub(super) fn new(inner: Inner, map: ShardMap) -> Self {
        Self { inner, sorter: Sorter::new(map) }
    }
}

impl<Inner: Connection<Data: Keyed>> Connection for KernelShardConnection<Inner> {
    type Data = Inner::Data;
    type Base = Inner::Base;

    forward!(self.inner => base, mtu, send, recv, recv_batch, drain, close);

    async fn send_batch(&self, messages: impl Iterator<Item = Inner::Data> + Send) -> Result<(), Error> {
        // With one shard there is nothing to sort.
        if self.sorter.map().shards().len() == 1 {
            return self.inner.send_batch(messages).await;
        }
        self.sorter.send(messages, |_| &self.inner).await.map_err(|failed| failed.error)
    }
}

debug_fields!(KernelShardConnection<Inner: Connection + Debug> { inner, sorter });
