//! The connection of a shard with a client.

use crate::shard::{Keyed, ShardMap};
use bertha_core::{Connection, DropCounter, Error, debug_fields, forward};
use std::fmt::Debug;

/// A client's connection at one shard of a server whose kernel routes; see
/// [`ServeShards`](super::ServeShards).
///
/// It receives the client's requests with keys of this shard, and drops and counts others. It ends with the
/// connection that the server accepted: the next `recv` returns the error. `close`, and dropping it, ends
/// nothing; further requests of the client for this shard are then lost.
pub struct SiblingConnection<Inner> {
    inner: Inner,
    map: ShardMap,
    shard: usize,
    misplaced: DropCounter,
}

impl<Inner> SiblingConnection<Inner> {
    pub(super) fn new(inner: Inner, map: ShardMap, shard: usize, misplaced: DropCounter) -> Self {
        Self { inner, map, shard, misplaced }
    }

    /// Returns the message if its key belongs to this shard.
    #[inline]
    fn own<T: Keyed>(&self, message: T) -> Option<T> {
        let is_own = self.map.shard_of(message.key()) == self.shard;
        if !is_own {
            self.misplaced.add(1);
        }
        is_own.then_some(message)
    }
}

impl<Inner: Connection<Data: Keyed>> Connection for SiblingConnection<Inner> {
    type Data = Inner::Data;
    type Base = Inner::Base;

    forward!(self.inner => base, mtu, send, send_batch, drain, close);

    async fn recv(&self) -> Result<Inner::Data, Error> {
        loop {
            if let Some(message) = self.own(self.inner.recv().await?) {
                return Ok(message);
            }
        }
    }

    async fn recv_batch(
        &self,
        into: &mut (impl Extend<Inner::Data> + Send),
        limit: usize,
    ) -> Result<usize, Error> {
        let mut own = OwnMessages { sibling: self, into, count: 0 };
        // A burst of nothing but misplaced messages would return zero.
        while own.count == 0 && limit > 0 {
            self.inner.recv_batch(&mut own, limit).await?;
        }
        Ok(own.count)
    }
}

/// Passes the messages of a burst on that belong to the shard.
struct OwnMessages<'a, Inner, Into> {
    sibling: &'a SiblingConnection<Inner>,
    into: &'a mut Into,
    count: usize,
}

impl<T: Keyed, Inner, Into: Extend<T>> Extend<T> for OwnMessages<'_, Inner, Into> {
    fn extend<Messages: IntoIterator<Item = T>>(&mut self, messages: Messages) {
        let Self { sibling, into, count } = self;
        into.extend(messages.into_iter().filter_map(|message| {
            let own = sibling.own(message);
            *count += usize::from(own.is_some());
            own
        }));
    }
}

debug_fields!(SiblingConnection<Inner: Debug> { inner, map, shard, misplaced });
