//! The futures that wait at a source, in the order of their arrival.

use slab::Slab;
use std::task::Waker;

/// The event for which a future waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Awaited {
    /// A message of the connection with this number.
    Connection(usize),
    /// A connection of the listener with this number.
    Listener(usize),
    /// An announcement of the event with this number.
    Event(usize),
}

/// The place of a future in the list of waiting futures. The future must [leave](super::Demux::leave) before
/// the key is dropped.
#[derive(Debug)]
pub struct WaiterKey {
    pub(crate) awaited: Awaited,
    pub(crate) token: Option<usize>,
}

impl WaiterKey {
    /// Creates the key of a future that does not wait yet.
    #[inline]
    pub fn new(awaited: Awaited) -> Self {
        Self { awaited, token: None }
    }

    /// Returns true if the future is in the list of waiting futures.
    #[inline]
    pub fn waits(&self) -> bool {
        self.token.is_some()
    }
}

/// A doubly linked list through a slab: joining, leaving and finding the ends take constant time for any
/// number of waiting futures, and none of these operations allocates once the slab has grown.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    entries: Slab<Waiter>,
    first: Option<usize>,
    last: Option<usize>,
}

#[derive(Debug)]
struct Waiter {
    waker: Waker,
    /// True if the future was woken since its last poll. The next wake-up then goes to another future that
    /// waits for the same event.
    notified: bool,
    /// True if the future may become the polling future.
    may_poll: bool,
    before: Option<usize>,
    after: Option<usize>,
}

impl Waiters {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn join(&mut self, waker: &Waker, may_poll: bool) -> usize {
        let before = self.last;
        let waiter = Waiter { waker: waker.clone(), notified: false, may_poll, before, after: None };
        let token = self.entries.insert(waiter);
        match before {
            Some(before) => self.entries[before].after = Some(token),
            None => self.first = Some(token),
        }
        self.last = Some(token);
        token
    }

    /// Records that the future was polled once more and has still found nothing.
    pub(crate) fn renew(&mut self, token: usize, waker: &Waker, may_poll: bool) {
        let waiter = &mut self.entries[token];
        (waiter.notified, waiter.may_poll) = (false, may_poll);
        waiter.waker.clone_from(waker);
    }

    pub(crate) fn leave(&mut self, token: usize) {
        let Waiter { before, after, .. } = self.entries.remove(token);
        match before {
            Some(before) => self.entries[before].after = after,
            None => self.first = after,
        }
        match after {
            Some(after) => self.entries[after].before = before,
            None => self.last = before,
        }
    }

    /// Returns the future that began to wait last, among the futures that may poll: it has handled a message
    /// most recently.
    pub(crate) fn newest_that_may_poll(&self) -> Option<usize> {
        std::iter::successors(self.last, |&token| self.entries[token].before)
            .find(|&token| self.entries[token].may_poll)
    }

    pub(crate) fn waker(&self, token: usize) -> &Waker {
        &self.entries[token].waker
    }

    /// Marks `token` as woken. Returns true if it was not marked before.
    pub(crate) fn notify(&mut self, token: usize) -> bool {
        !std::mem::replace(&mut self.entries[token].notified, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_stays_whole_when_any_of_it_leaves() {
        let mut waiters = Waiters::default();
        let mut join = || waiters.join(Waker::noop(), true);
        let [a, b, c, d] = [join(), join(), join(), join()];
        waiters.leave(b);
        assert_eq!((waiters.first, waiters.newest_that_may_poll()), (Some(a), Some(d)));
        waiters.leave(a);
        assert_eq!(waiters.first, Some(c));
        waiters.leave(d);
        let e = waiters.join(Waker::noop(), false);
        assert_eq!((waiters.last, waiters.newest_that_may_poll()), (Some(e), Some(c)));
        waiters.leave(c);
        assert_eq!((waiters.first, waiters.newest_that_may_poll()), (Some(e), None));
        waiters.leave(e);
        assert!(waiters.first.is_none() && waiters.len() == 0);
    }

    #[test]
    fn a_waiter_is_notified_once_between_polls() {
        let mut waiters = Waiters::default();
        let token = waiters.join(Waker::noop(), true);
        assert!(waiters.notify(token));
        assert!(!waiters.notify(token));
        waiters.renew(token, Waker::noop(), true);
        assert!(waiters.notify(token));
    }
}
