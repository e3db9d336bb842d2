//! A bounded queue between two runtimes.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::mem::take;
use std::task::{Context, Poll, Waker};

/// A bounded queue whose operations are futures, on any runtime.
#[derive(Debug)]
pub(super) struct Ring<T> {
    state: Mutex<RingState<T>>,
}

#[derive(Debug)]
struct RingState<T> {
    items: VecDeque<T>,
    capacity: usize,
    /// True if no more items may be added.
    is_closed: bool,
    /// Number of items that were taken out and are not done.
    under_way: usize,
    waiting: Vec<Waker>,
}

impl<T> RingState<T> {
    /// Registers the caller to be woken at the next change, and returns `Pending`.
    fn wait<R>(&mut self, cx: &Context<'_>) -> Poll<R> {
        if !self.waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
            self.waiting.push(cx.waker().clone());
        }
        Poll::Pending
    }
}

impl<T> Ring<T> {
    pub(super) fn new(capacity: usize) -> Self {
        let state = RingState {
            items: VecDeque::new(),
            capacity,
            is_closed: false,
            under_way: 0,
            waiting: Vec::new(),
        };
        Self { state: Mutex::new(state) }
    }

    /// Changes the state, and wakes the tasks that wait for a change.
    fn change<R>(&self, change: impl FnOnce(&mut RingState<T>) -> R) -> R {
        let mut state = self.state.lock();
        let result = change(&mut state);
        let waiting = take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
        result
    }

    /// Adds an item, once there is room. Returns false if the ring is closed. The future is
    /// cancellation-safe: an item is added whole or not at all.
    pub(super) async fn push(&self, item: T) -> bool
    where
        T: Send,
    {
        let mut item = Some(item);
        let room = |cx: &mut Context<'_>| {
            let mut state = self.state.lock();
            if state.is_closed {
                return Poll::Ready(false);
            }
            if state.items.len() >= state.capacity {
                return state.wait(cx);
            }
            state.items.extend(item.take());
            let waiting = take(&mut state.waiting);
            drop(state);
            waiting.into_iter().for_each(Waker::wake);
            Poll::Ready(true)
        };
        poll_fn(room).await
    }

    /// Adds an item, or drops it if there is no room.
    pub(super) fn offer(&self, item: T) {
        let refused = self.change(|state| {
            if state.is_closed || state.items.len() >= state.capacity {
                return Some(item);
            }
            state.items.push_back(item);
            None
        });
        drop(refused);
    }

    /// Removes an item, once there is one. Returns `None` if the ring is closed and empty. The future is
    /// cancellation-safe.
    pub(super) async fn pop(&self) -> Option<T> {
        poll_fn(|cx| {
            if let Some(item) = self.try_pop() {
                return Poll::Ready(Some(item));
            }
            let mut state = self.state.lock();
            match state.items.is_empty() {
                true if state.is_closed => Poll::Ready(None),
                true => state.wait(cx),
                false => {
                    // An item came in between.
                    drop(state);
                    cx.waker().wake_by_ref();
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// Removes an item, if there is one.
    pub(super) fn try_pop(&self) -> Option<T> {
        if self.state.lock().items.is_empty() {
            return None;
        }
        self.change(|state| {
            let item = state.items.pop_front();
            state.under_way += usize::from(item.is_some());
            item
        })
    }

    /// Records that a removed item is done.
    pub(super) fn done(&self) {
        self.change(|state| state.under_way = state.under_way.saturating_sub(1));
    }

    /// Waits until all items are removed and done.
    pub(super) async fn drained(&self) {
        poll_fn(|cx| {
            let mut state = self.state.lock();
            if state.items.is_empty() && state.under_way == 0 { Poll::Ready(()) } else { state.wait(cx) }
        })
        .await;
    }

    /// Closes the ring for new items. The remaining items can be removed.
    pub(super) fn close(&self) {
        self.change(|state| state.is_closed = true);
    }

    /// Closes the ring, and drops the remaining items too.
    pub(super) fn clear(&self) {
        let items = self.change(|state| {
            state.is_closed = true;
            take(&mut state.items)
        });
        drop(items);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests panic to fail")]

    use super::*;
    use std::pin::pin;

    fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn it_is_bounded_and_ends() {
        let ring = Ring::new(2);
        assert_eq!(poll(pin!(ring.push(1))), Poll::Ready(true));
        assert_eq!(poll(pin!(ring.push(2))), Poll::Ready(true));
        let mut third = pin!(ring.push(3));
        assert!(poll(third.as_mut()).is_pending());
        ring.offer(9);
        let mut drained = pin!(ring.drained());
        assert_eq!(poll(pin!(ring.pop())), Poll::Ready(Some(1)));
        assert_eq!(poll(third), Poll::Ready(true));
        ring.close();
        assert_eq!(poll(pin!(ring.push(4))), Poll::Ready(false));
        assert_eq!((ring.try_pop(), ring.try_pop(), ring.try_pop()), (Some(2), Some(3), None));
        assert_eq!(poll(pin!(ring.pop())), Poll::Ready(None));
        for _ in 0..3 {
            assert!(poll(drained.as_mut()).is_pending(), "items are under way");
            ring.done();
        }
        assert_eq!(poll(drained), Poll::Ready(()));
    }
}
