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

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    /// A task that counts how often it is woken.
    #[derive(Default)]
    pub(in crate::link) struct Task(pub(in crate::link) AtomicUsize);

    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_task_is_in_the_list_once_and_the_next_after_the_last_wakes_all() {
        let mut list = WakerList::default();
        assert!(list.is_empty());
        let tasks: Vec<_> = (0..=MAX_WAKERS).map(|_| Arc::<Task>::default()).collect();
        let wakers: Vec<_> = tasks.iter().map(|task| Waker::from(task.clone())).collect();
        for waker in &wakers[..MAX_WAKERS] {
            list.register(waker);
            list.register(&waker.clone());
        }
        assert!(!list.is_empty());
        assert!(tasks.iter().all(|task| task.0.load(Ordering::Relaxed) == 0));
        list.register(&wakers[MAX_WAKERS]);
        let woken: Vec<_> = tasks.iter().map(|task| task.0.load(Ordering::Relaxed)).collect();
        assert!(woken[..MAX_WAKERS].iter().all(|count| *count == 1) && woken[MAX_WAKERS] == 0);
        let left: Vec<_> = list.into_iter().collect();
        assert!(left.len() == 1 && left[0].will_wake(&wakers[MAX_WAKERS]));
    }
}
