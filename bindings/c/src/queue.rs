//! Messages and clients that have arrived in the background, and wait for a call.

use crate::readiness::{Bit, Readiness};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::Notify;

/// A queue whose readers may wait, and which shows in a descriptor.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    state: Mutex<State<T>>,
    arrived: Notify,
    taken: Notify,
    readiness: Arc<Readiness>,
}

#[derive(Debug)]
struct State<T> {
    items: VecDeque<T>,
    /// True while a task gathers the next items.
    is_gathering: bool,
}

/// The outcome of a look into the queue.
#[derive(Debug)]
pub(crate) enum Look<T> {
    Found(T),
    /// A task gathers the next items.
    Gathering,
    Nothing,
}

impl<T> Queue<T> {
    pub(crate) fn new(readiness: Arc<Readiness>) -> Self {
        let state = State { items: VecDeque::new(), is_gathering: false };
        Self { state: Mutex::new(state), arrived: Notify::new(), taken: Notify::new(), readiness }
    }

    /// Adds what a task has gathered, which has done its work with it.
    pub(crate) fn push(&self, items: impl IntoIterator<Item = T>) {
        let mut state = self.state.lock();
        state.items.extend(items);
        state.is_gathering = false;
        self.readiness.set(Bit::Receive);
        drop(state);
        self.arrived.notify_waiters();
    }

    /// Puts back what was taken last.
    pub(crate) fn put_back(&self, item: T) {
        let mut state = self.state.lock();
        state.items.push_front(item);
        self.readiness.set(Bit::Receive);
        drop(state);
        self.arrived.notify_waiters();
    }

    /// Takes the first item.
    pub(crate) fn take(&self) -> Look<T> {
        let mut state = self.state.lock();
        match state.items.pop_front() {
            Some(item) => {
                drop(state);
                self.taken.notify_waiters();
                Look::Found(item)
            }
            None if state.is_gathering => Look::Gathering,
            None => Look::Nothing,
        }
    }

    /// Takes the first items, at most `most`, as far as they are as `is_wanted` says.
    pub(crate) fn take_while(&self, most: usize, is_wanted: impl Fn(&T) -> bool) -> Vec<T> {
        let items = &mut self.state.lock().items;
        let number = items.iter().take(most).take_while(|item| is_wanted(item)).count();
        items.drain(..number).collect()
    }

    /// Returns a future that is ready when something has arrived after this call.
    pub(crate) fn arrival(&self) -> impl Future<Output = ()> {
        self.arrived.notified()
    }

    /// Waits until there are fewer than `most` items.
    pub(crate) async fn has_room(&self, most: usize) {
        loop {
            let taken = self.taken.notified();
            if self.state.lock().items.len() < most {
                return;
            }
            taken.await;
        }
    }

    /// Clears the bit of the descriptor if nothing is there, and returns true then.
    pub(crate) fn clear_if_empty(&self) -> bool {
        let state = self.state.lock();
        let is_empty = state.items.is_empty();
        if is_empty {
            self.readiness.clear(Bit::Receive);
        }
        is_empty
    }

    /// Returns true if a task has to begin to gather, and notes that it does.
    pub(crate) fn begins_gathering(&self) -> bool {
        let mut state = self.state.lock();
        state.items.is_empty() && !std::mem::replace(&mut state.is_gathering, true)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;

    #[test]
    fn one_task_gathers_at_a_time_and_readers_wait_for_it() {
        let queue = Queue::new(Arc::default());
        assert!(matches!(queue.take(), Look::Nothing));
        assert!(queue.begins_gathering() && !queue.begins_gathering());
        assert!(matches!(queue.take(), Look::Gathering));
        queue.push([1, 2, 3]);
        assert!(!queue.begins_gathering(), "items are there");
        assert!(!queue.clear_if_empty());
        assert_eq!(queue.take_while(5, |item| *item < 3), [1, 2]);
        queue.put_back(0);
        assert!(matches!(queue.take(), Look::Found(0)));
        assert!(matches!(queue.take(), Look::Found(3)));
        assert!(matches!(queue.take(), Look::Nothing) && queue.clear_if_empty());
    }
}
