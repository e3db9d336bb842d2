//! Operations that wait for one thing.

use parking_lot::Mutex;
use std::sync::Arc;
use std::task::{Wake, Waker};

/// The operations that wait for one thing, which are all woken at once: each looks again, and most find nothing.
#[derive(Debug, Default)]
pub(crate) struct Waiting(Mutex<Vec<(u64, Waker)>>);

impl Waiting {
    /// Lets the operation of this number be woken.
    pub(crate) fn enter(&self, number: u64, waker: &Waker) {
        let mut waiting = self.0.lock();
        match waiting.iter_mut().find(|(other, _)| *other == number) {
            Some((_, entered)) => entered.clone_from(waker),
            None => waiting.push((number, waker.clone())),
        }
    }

    /// Forgets the operation. Returns true if no other one waits.
    pub(crate) fn leave(&self, number: u64) -> bool {
        let mut waiting = self.0.lock();
        let place = waiting.iter().position(|(other, _)| *other == number);
        let left = place.map(|place| waiting.swap_remove(place));
        let is_empty = waiting.is_empty();
        drop(waiting);
        drop(left);
        is_empty
    }

    /// Wakes all operations, which stay entered.
    pub(crate) fn wake_all(&self) {
        // Without a waiter, the list takes no memory.
        let wakers: Vec<_> = self.0.lock().iter().map(|(_, waker)| waker.clone()).collect();
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        self.wake_all();
    }
}
