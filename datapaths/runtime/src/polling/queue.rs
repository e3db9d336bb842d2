//! The messages that wait for one connection.

use bertha_core::Buf;
use bertha_core::buf::Segments;
use std::collections::VecDeque;

/// A queue of received buffers, counted in messages.
#[derive(Debug, Default)]
pub struct Queue {
    /// Received buffers, each with at least one message.
    buffers: VecDeque<Segments>,
    len: usize,
}

impl Queue {
    /// Returns the number of messages.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Appends as many messages as `capacity` admits, and returns the number of dropped messages.
    #[inline]
    pub(crate) fn push(&mut self, mut messages: Segments, capacity: usize) -> usize {
        let count = messages.len();
        let dropped = count.saturating_sub(capacity);
        if dropped > 0 {
            if capacity == 0 {
                return dropped;
            }
            messages = messages.split_first(capacity);
        }
        self.len += count - dropped;
        self.buffers.push_back(messages);
        dropped
    }

    /// Removes the next message.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Buf> {
        let first = self.buffers.front_mut()?;
        let message = first.next();
        if first.len() == 0 {
            self.buffers.pop_front();
        }
        self.len -= 1;
        message
    }

    /// Removes the next messages that lie in a common buffer, at most `max`.
    #[inline]
    pub(crate) fn take(&mut self, max: usize) -> Option<Segments> {
        let first = self.buffers.front_mut()?;
        let count = first.len();
        if count <= max {
            self.len -= count;
            return self.buffers.pop_front();
        }
        if max == 0 {
            return None;
        }
        self.len -= max;
        Some(first.split_first(max))
    }

    pub(crate) fn clear(&mut self) {
        self.buffers.clear();
        self.len = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn messages(bytes: &[u8]) -> Segments {
        Buf::copy_of(bytes, 0).unwrap().into_segments(1)
    }

    proptest! {
        #[test]
        fn is_a_queue_of_messages(
            buffers in prop::collection::vec((prop::collection::vec(any::<u8>(), 1..5), 0..7_usize), 0..20),
            max in 1..6_usize,
        ) {
            let (mut queue, mut model) = (Queue::default(), VecDeque::new());
            for (turn, (bytes, capacity)) in buffers.iter().enumerate() {
                let fitting = bytes.len().min(*capacity);
                prop_assert_eq!(queue.push(messages(bytes), *capacity), bytes.len() - fitting);
                model.extend(&bytes[..fitting]);
                if turn % 3 == 0 {
                    prop_assert_eq!(queue.pop().map(|message| message[0]), model.pop_front());
                } else if turn % 3 == 1 {
                    let taken: Vec<_> = queue.take(max).into_iter().flatten().map(|message| message[0]).collect();
                    prop_assert!(taken.len() <= max && taken.is_empty() == model.is_empty());
                    prop_assert_eq!(&taken, &model.drain(..taken.len()).collect::<Vec<_>>());
                }
                prop_assert_eq!(queue.len(), model.len());
            }
        }
    }
}
