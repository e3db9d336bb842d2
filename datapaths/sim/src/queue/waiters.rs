//! The futures that have to be woken.

use std::task::Waker;

/// The wakers of futures that wait for a common event. Each has a key of its own, so that a dropped future
/// leaves nothing behind. The list keeps its memory, so waiting allocates nothing in the long run.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    next: u64,
    waiting: Vec<(u64, Waker)>,
}

impl Waiters {
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Registers `waker` under `key`, or under a new key, which is returned.
    pub(super) fn register(&mut self, key: Option<u64>, waker: &Waker) -> u64 {
        let known = key.and_then(|key| self.waiting.iter_mut().find(|(other, _)| *other == key));
        if let Some((key, old)) = known {
            old.clone_from(waker);
            return *key;
        }
        let key = self.next;
        self.next += 1;
        self.waiting.push((key, waker.clone()));
        key
    }

    /// Removes the waker under `key`.
    pub(super) fn remove(&mut self, key: u64) -> Option<Waker> {
        let position = self.waiting.iter().position(|(other, _)| *other == key)?;
        Some(self.waiting.swap_remove(position).1)
    }

    /// Removes and returns a waker.
    pub(super) fn pop(&mut self) -> Option<Waker> {
        self.waiting.pop().map(|(_, waker)| waker)
    }
}
