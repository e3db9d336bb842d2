//! A burst, sorted by shard.

use super::ShardMap;
use super::keyed::{FindKey, Own};
use std::marker::PhantomData;
use std::vec::Drain;

/// Messages in one queue per shard. Queues keep their storage, so bursts allocate nothing once the queues have grown.
#[derive(Debug)]
pub(super) struct Parts<T, K = Own> {
    queues: Vec<Vec<T>>,
    /// The shards whose queue is not empty, so that a small burst does not scan a thousand queues.
    filled: Vec<usize>,
    /// The number of messages without a key since the last call of `take_keyless`.
    keyless: u64,
    map: ShardMap,
    find: PhantomData<fn() -> K>,
}

impl<T, K> Parts<T, K> {
    pub(super) fn new(map: ShardMap) -> Self {
        Self {
            queues: map.shards().iter().map(|_| Vec::new()).collect(),
            filled: Vec::new(),
            keyless: 0,
            map,
            find: PhantomData,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.filled.is_empty()
    }

    /// Takes out all messages of a shard. Messages left in the iterator are dropped with it.
    pub(super) fn next_part(&mut self) -> Option<(usize, Drain<'_, T>)> {
        let shard = self.filled.pop()?;
        Some((shard, self.queues[shard].drain(..)))
    }

    /// Drops all messages.
    pub(super) fn clear(&mut self) {
        while self.next_part().is_some() {}
    }

    /// Returns the number of messages since the last call that were dropped because they have no key.
    pub(super) fn take_keyless(&mut self) -> u64 {
        std::mem::take(&mut self.keyless)
    }
}

impl<T, K: FindKey<T>> Extend<T> for Parts<T, K> {
    fn extend<Messages: IntoIterator<Item = T>>(&mut self, messages: Messages) {
        for message in messages {
            let Some(key) = K::key(&message) else {
                self.keyless += 1;
                continue;
            };
            let shard = self.map.shard_of(key);
            let queue = &mut self.queues[shard];
            if queue.is_empty() {
                self.filled.push(shard);
            }
            queue.push(message);
        }
    }
}
