//! The tasks that wait for one event.

use std::task::Waker;

/// Maximum number of tasks in a list. The next task has all tasks of the list woken, which then register
/// again.
const MAX_WAKERS: usize = 64;

/// A list of wakers, each of a different task. The owner keeps it behind a lock, together with the state for
/// which the tasks wait.
#[derive(Debug, Default)]
pub(crate) struct WakerList(Vec<Waker>);

impl WakerList {
    /// Adds a task, unless the list has the task already.
    pub(crate) fn register(&mut self, waker: &Waker) {
        if self.has(waker) {
            return;
        }
        // With some executors only another clone of a waker equals a clone.
        let waker = waker.clone();
        if self.has(&waker) {
            return;
        }
        if self.0.len() >= MAX_WAKERS {
            self.0.drain(..).for_each(Waker::wake);
        }
        self.0.push(waker);
    }

    /// Returns true if the list has the task of this waker.
    fn has(&self, waker: &Waker) -> bool {
        // From the end: a task that waits again and again stands behind the tasks that wait once.
        self.0.iter().rev().any(|known| known.will_wake(waker))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl IntoIterator for WakerList {
    type Item = Waker;
    type IntoIter = std::vec::IntoIter<Waker>;

    /// Returns the wakers in the order of their registration.
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
