//! The messages that wait for one connection.

use bertha_core::Buf;
use bertha_core::buf::Pieces;
use std::collections::VecDeque;

/// A queue of received buffers, counted in messages.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// None of them is empty.
    buffers: VecDeque<Pieces>,
    len: usize,
}

impl Queue {
    /// How many messages wait.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Appends as many messages as there is room for, and returns how many were dropped.
    #[inline]
    pub(super) fn push(&mut self, mut messages: Pieces, room: usize) -> usize {
        let count = messages.len();
        let dropped = count.saturating_sub(room);
        if dropped > 0 {
            if room == 0 {
                return dropped;
            }
            messages = messages.split_first(room);
        }
        self.len += count - dropped;
        self.buffers.push_back(messages);
        dropped
    }

    /// The next message.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Buf> {
        let first = self.buffers.front_mut()?;
        let message = first.next();
        if first.len() == 0 {
            self.buffers.pop_front();
        }
        self.len -= 1;
        message
    }

    /// The next messages that came in one buffer, at most `limit`.
    #[inline]
    pub(super) fn take(&mut self, limit: usize) -> Option<Pieces> {
        let first = self.buffers.front_mut()?;
        let count = first.len();
        if count <= limit {
            self.len -= count;
            return self.buffers.pop_front();
        }
        if limit == 0 {
            return None;
        }
        self.len -= limit;
        Some(first.split_first(limit))
    }

    pub(super) fn clear(&mut self) {
        self.buffers.clear();
        self.len = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn messages(bytes: &[u8]) -> Pieces {
        Buf::copy_of(bytes, 0).unwrap().into_pieces(1)
    }

    proptest! {
        #[test]
        fn is_a_queue_of_messages(
            buffers in prop::collection::vec((prop::collection::vec(any::<u8>(), 1..5), 0..7_usize), 0..20),
            limit in 1..6_usize,
        ) {
            let (mut queue, mut model) = (Queue::default(), VecDeque::new());
            for (turn, (bytes, room)) in buffers.iter().enumerate() {
                let fitting = bytes.len().min(*room);
                prop_assert_eq!(queue.push(messages(bytes), *room), bytes.len() - fitting);
                model.extend(&bytes[..fitting]);
                if turn % 3 == 0 {
                    prop_assert_eq!(queue.pop().map(|message| message[0]), model.pop_front());
                } else if turn % 3 == 1 {
                    let taken: Vec<_> = queue.take(limit).into_iter().flatten().map(|message| message[0]).collect();
                    prop_assert!(taken.len() <= limit && taken.is_empty() == model.is_empty());
                    prop_assert_eq!(&taken, &model.drain(..taken.len()).collect::<Vec<_>>());
                }
                prop_assert_eq!(queue.len(), model.len());
            }
        }
    }
}
