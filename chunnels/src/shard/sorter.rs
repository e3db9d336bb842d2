//! Bursts that leave a client sorted by shard.

use super::parts::Parts;
use super::{BURST, Keyed, ShardMap};
use bertha_core::{Connection, Error, debug_fields};
use parking_lot::Mutex;

/// Sorts bursts by shard, up to 256 messages at a time, and sends each shard's part as a burst of its own.
///
/// A burst takes the queues out and puts them back, so that bursts allocate nothing and no lock is held across
/// an await; if two bursts are sent at once, the second allocates its own queues.
pub(super) struct Sorter<T> {
    map: ShardMap,
    parts: Mutex<Option<Parts<T>>>,
}

/// An error of a connection to a shard.
#[derive(Debug)]
pub(super) struct ShardError {
    pub(super) shard: usize,
    pub(super) error: Error,
}

impl<T: Keyed + Send> Sorter<T> {
    pub(super) fn new(map: ShardMap) -> Self {
        Self { map, parts: Mutex::new(None) }
    }

    pub(super) fn map(&self) -> &ShardMap {
        &self.map
    }

    /// Sends all messages, each over the connection that `to` returns for its shard. Messages of one shard keep
    /// their order.
    ///
    /// After an error, or if the future is dropped, some first part of each shard's messages was sent, and the
    /// rest of the 256 messages is dropped.
    pub(super) async fn send<'a, C>(
        &self,
        mut messages: impl Iterator<Item = T> + Send,
        to: impl Fn(usize) -> &'a C + Send + Sync,
    ) -> Result<(), ShardError>
    where
        C: Connection<Data = T> + 'a,
    {
        let kept = self.parts.lock().take();
        let mut parts = kept.unwrap_or_else(|| Parts::new(self.map.clone()));
        let mut result = Ok(());
        while result.is_ok() {
            parts.extend(messages.by_ref().take(BURST));
            if parts.is_empty() {
                break;
            }
            result = send_parts(&mut parts, &to).await;
        }
        parts.clear();
        *self.parts.lock() = Some(parts);
        result
    }
}

async fn send_parts<'a, T, C>(
    parts: &mut Parts<T>,
    to: &(impl Fn(usize) -> &'a C + Send + Sync),
) -> Result<(), ShardError>
where
    T: Send,
    C: Connection<Data = T> + 'a,
{
    while let Some((shard, messages)) = parts.next_part() {
        to(shard).send_batch(messages).await.map_err(|error| ShardError { shard, error })?;
    }
    Ok(())
}

debug_fields!(Sorter<T> { map });
