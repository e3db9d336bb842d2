//! A bounded queue between tasks of any executor, from which connections receive.

mod wait;
mod waiters;

use bertha_core::{Error, ErrorKind};
use parking_lot::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::task::Poll;
use wait::Wait;
use waiters::Waiters;

/// A bounded queue for any number of senders and receivers. All futures are cancellation-safe.
///
/// A change wakes every future that waits for it. So with several receivers, a wake-up of a receiver that is
/// then dropped can't be lost.
pub(crate) struct Queue<T> {
    state: Mutex<QueueState<T>>,
}

pub(crate) struct QueueState<T> {
    items: VecDeque<T>,
    capacity: usize,
    ending: Option<Ending>,
    notice: Option<Ending>,
    receivers: Waiters,
    senders: Waiters,
    added: bool,
    removed: bool,
}

/// The reason why no more items will come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ending {
    pub(crate) kind: ErrorKind,
    pub(crate) context: &'static str,
}

impl Ending {
    pub(crate) const HERE: Self = Self { kind: ErrorKind::Closed, context: "this end closed the connection" };
    /// The ending for a connection that either end closed.
    pub(crate) const CLOSED: Self = Self { kind: ErrorKind::Closed, context: "the connection was closed" };

    pub(crate) fn error(self) -> Error {
        Error::new(self.kind, self.context).at("sim")
    }
}

/// The change that a future waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    /// A message, for which receivers wait.
    Receivers,
    /// Room, for which senders wait.
    Senders,
}

/// The reason why an item was not taken.
#[derive(Debug)]
pub(crate) enum NotTaken {
    Full,
    Ended,
}

impl<T> QueueState<T> {
    fn waiters(&mut self, side: Side) -> &mut Waiters {
        match side {
            Side::Receivers => &mut self.receivers,
            Side::Senders => &mut self.senders,
        }
    }

    /// Returns `Ready` with an error if nothing can be sent any more, and `Pending` if there is no room now.
    fn room(&mut self) -> Poll<Result<(), Error>> {
        match (self.ending, self.notice.take()) {
            (Some(ending), _) | (None, Some(ending)) => Poll::Ready(Err(ending.error())),
            _ if self.items.len() >= self.capacity => Poll::Pending,
            _ => Poll::Ready(Ok(())),
        }
    }

    fn add(&mut self, item: T) {
        self.items.push_back(item);
        self.added = true;
    }

    /// Returns the number of items if there are any, and otherwise the reason why there are none.
    fn filled(&mut self) -> Poll<Result<usize, Error>> {
        if let Some(notice) = self.notice.take() {
            return Poll::Ready(Err(notice.error()));
        }
        match (self.items.len(), self.ending) {
            (0, Some(ending)) => Poll::Ready(Err(ending.error())),
            (0, None) => Poll::Pending,
            (len, _) => Poll::Ready(Ok(len)),
        }
    }
}

impl<T> Queue<T> {
    pub(crate) fn new(capacity: usize) -> Self {
        let state = QueueState {
            items: VecDeque::new(),
            capacity,
            ending: None,
            notice: None,
            receivers: Waiters::default(),
            senders: Waiters::default(),
            added: false,
            removed: false,
        };
        Self { state: Mutex::new(state) }
    }

    /// Creates a queue as [`new`](Self::new), and allocates the memory for all items at once.
    pub(crate) fn with_room(capacity: usize) -> Self {
        let queue = Self::new(capacity);
        queue.state.lock().items.reserve(capacity);
        queue
    }

    pub(crate) fn len(&self) -> usize {
        self.state.lock().items.len()
    }

    /// Adds `item` if there is room.
    pub(crate) fn try_push(&self, item: T) -> Result<(), NotTaken> {
        let mut state = self.state.lock();
        if state.ending.is_some() {
            return Err(NotTaken::Ended);
        }
        if state.items.len() >= state.capacity {
            return Err(NotTaken::Full);
        }
        state.add(item);
        self.unlock_and_wake(state);
        Ok(())
    }

    /// Adds `item` and ends the sending side with `ending`, even if there is no room. Has no effect if the
    /// sending side has ended. Returns true if the item was added.
    pub(crate) fn push_last(&self, item: T, ending: Ending) -> bool {
        let mut state = self.state.lock();
        if state.ending.is_some() {
            return false;
        }
        state.add(item);
        state.ending = Some(ending);
        state.removed = true;
        self.unlock_and_wake(state);
        true
    }

    /// Adds `item` once there is room.
    pub(crate) fn push(&self, item: T) -> impl Future<Output = Result<(), Error>> {
        let mut item = Some(item);
        Wait::new(self, Side::Senders, move |state: &mut QueueState<T>| {
            let room = state.room();
            if matches!(room, Poll::Ready(Ok(())))
                && let Some(item) = item.take()
            {
                state.add(item);
            }
            room
        })
    }

    /// Adds `items` as room allows. The first error ends the call.
    pub(crate) fn push_all(
        &self,
        mut items: impl Iterator<Item = Result<T, Error>>,
    ) -> impl Future<Output = Result<(), Error>> {
        // The item that waits for room. It is taken from the iterator before, since a burst that has ended
        // needs no room.
        let mut waiting = None;
        Wait::new(self, Side::Senders, move |state: &mut QueueState<T>| {
            loop {
                if let Some(ending) = state.ending {
                    return Poll::Ready(Err(ending.error()));
                }
                let item = match waiting.take() {
                    Some(item) => item,
                    None => match items.next() {
                        Some(Ok(item)) => item,
                        Some(Err(error)) => return Poll::Ready(Err(error)),
                        None => return Poll::Ready(Ok(())),
                    },
                };
                if state.items.len() < state.capacity && state.notice.is_none() {
                    state.add(item);
                    continue;
                }
                waiting = Some(item);
                match state.room() {
                    Poll::Ready(Ok(())) => {}
                    other => return other,
                }
            }
        })
    }

    /// Waits for an item.
    pub(crate) fn pop(&self) -> impl Future<Output = Result<T, Error>> {
        Wait::new(self, Side::Receivers, |state: &mut QueueState<T>| match state.filled() {
            Poll::Ready(Ok(_)) => {
                state.removed = true;
                state.items.pop_front().map_or(Poll::Pending, |item| Poll::Ready(Ok(item)))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => Poll::Pending,
        })
    }

    /// Waits for an item, then moves the available items to `into`, at most `limit`.
    pub(crate) fn pop_some<E: Extend<T>>(
        &self,
        into: &mut E,
        limit: usize,
    ) -> impl Future<Output = Result<usize, Error>> {
        Wait::new(self, Side::Receivers, move |state: &mut QueueState<T>| {
            if limit == 0 {
                return Poll::Ready(Ok(0));
            }
            state.filled().map_ok(|len| {
                let count = len.min(limit);
                into.extend(state.items.drain(..count));
                state.removed = true;
                count
            })
        })
    }

    /// Removes and returns an item, if there is one.
    pub(crate) fn try_pop(&self) -> Option<T> {
        let mut state = self.state.lock();
        let item = state.items.pop_front();
        state.removed = item.is_some();
        self.unlock_and_wake(state);
        item
    }

    /// Reports `notice` to the next call, which then fails; the queue goes on.
    pub(crate) fn notify(&self, notice: Ending) {
        let mut state = self.state.lock();
        state.notice = Some(notice);
        state.added = true;
        self.unlock_and_wake(state);
    }

    /// Returns the pending report, as an error.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let mut state = self.state.lock();
        match state.ending.or(state.notice.take()) {
            Some(reason) => Err(reason.error()),
            None => Ok(()),
        }
    }

    /// Ends the queue: no more items are taken, and the remaining items can still be received. The first
    /// ending stays.
    pub(crate) fn end(&self, ending: Ending) {
        let mut state = self.state.lock();
        state.ending.get_or_insert(ending);
        (state.added, state.removed) = (true, true);
        self.unlock_and_wake(state);
    }

    /// Ends the queue as [`end`](Self::end), and returns the remaining items.
    pub(crate) fn end_now(&self, ending: Ending) -> VecDeque<T> {
        self.end(ending);
        std::mem::take(&mut self.state.lock().items)
    }

    /// Returns the result of `look` at the first item.
    pub(crate) fn peek<R>(&self, look: impl FnOnce(&T) -> R) -> Option<R> {
        self.state.lock().items.front().map(look)
    }

    pub(crate) fn is_full(&self) -> bool {
        let state = self.state.lock();
        state.items.len() >= state.capacity
    }

    /// Wakes the futures that the changes concern, outside the lock: a waker may run code that uses this
    /// queue.
    fn unlock_and_wake(&self, mut state: MutexGuard<'_, QueueState<T>>) {
        let receivers = std::mem::take(&mut state.added) && !state.receivers.is_empty();
        let senders = std::mem::take(&mut state.removed) && !state.senders.is_empty();
        drop(state);
        if receivers {
            self.wake_all(Side::Receivers);
        }
        if senders {
            self.wake_all(Side::Senders);
        }
    }

    fn wake_all(&self, side: Side) {
        let mut left = usize::MAX;
        while left > 0 {
            let mut state = self.state.lock();
            let waiters = state.waiters(side);
            // Futures that register meanwhile have seen the change.
            left = left.min(waiters.len());
            let Some(waker) = waiters.pop() else { return };
            drop(state);
            waker.wake();
            left -= 1;
        }
    }
}

#[cfg(test)]
mod tests;
