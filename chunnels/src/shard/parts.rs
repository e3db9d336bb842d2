//! A burst, sorted by shard.

use super::{Keyed, ShardMap};
use std::vec::Drain;

/// Messages in one queue per shard. Queues keep their storage, so that a burst allocates nothing once they have grown
/// to what bursts need.
#[derive(Debug)]
pub(super) struct Parts<T> {
    queues: Vec<Vec<T>>,
    /// The shards whose queue is not empty, so that a small burst need not look at a thousand queues.
    filled: Vec<usize>,
    map: ShardMap,
}

impl<T> Parts<T> {
    pub(super) fn new(map: ShardMap) -> Self {
        Self { queues: map.shards().iter().map(|_| Vec::new()).collect(), filled: Vec::new(), map }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.filled.is_empty()
    }

    /// Takes out all messages of some shard. Those that are still in the iterator when it is dropped are dropped too.
    pub(super) fn next_part(&mut self) -> Option<(usize, Drain<'_, T>)> {
        let shard = self.filled.pop()?;
        Some((shard, self.queues[shard].drain(..)))
    }

    /// Drops all messages.
    pub(super) fn clear(&mut self) {
        while self.next_part().is_some() {}
    }
}

impl<T: Keyed> Extend<T> for Parts<T> {
    fn extend<Messages: IntoIterator<Item = T>>(&mut self, messages: Messages) {
        for message in messages {
            let shard = self.map.shard_of(message.key());
            let queue = &mut self.queues[shard];
            if queue.is_empty() {
                self.filled.push(shard);
            }
            queue.push(message);
        }
    }
}
