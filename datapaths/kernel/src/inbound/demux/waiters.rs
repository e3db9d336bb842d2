//! The futures that wait at a socket, in the order in which they began to.

use slab::Slab;
use std::task::Waker;

/// Whom a future waits for: a message of one connection, or a new connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The connection with this number.
    Connection(usize),
    /// Whoever accepts.
    Acceptor,
}

/// A doubly linked list through a slab, so that joining, leaving and finding the first take constant time however
/// many connections wait, and none of them allocates once the slab has grown.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    entries: Slab<Waiter>,
    first: Option<usize>,
    last: Option<usize>,
}

#[derive(Debug)]
struct Waiter {
    owner: Owner,
    waker: Waker,
    /// Woken since it was last polled, so another one of the same owner is to be woken next.
    notified: bool,
    before: Option<usize>,
    after: Option<usize>,
}

impl Waiters {
    pub(crate) fn join(&mut self, owner: Owner, waker: &Waker) -> usize {
        let before = self.last;
        let waiter = Waiter { owner, waker: waker.clone(), notified: false, before, after: None };
        let token = self.entries.insert(waiter);
        match before {
            Some(before) => self.entries[before].after = Some(token),
            None => self.first = Some(token),
        }
        self.last = Some(token);
        token
    }

    /// Notes that the future was polled once more and has still found nothing.
    pub(crate) fn renew(&mut self, token: usize, waker: &Waker) {
        let waiter = &mut self.entries[token];
        waiter.notified = false;
        waiter.waker.clone_from(waker);
    }

    pub(crate) fn leave(&mut self, token: usize) -> Owner {
        let Waiter { owner, before, after, .. } = self.entries.remove(token);
        match before {
            Some(before) => self.entries[before].after = after,
            None => self.first = after,
        }
        match after {
            Some(after) => self.entries[after].before = before,
            None => self.last = before,
        }
        owner
    }

    /// Who has waited longest.
    pub(crate) fn first(&self) -> Option<usize> {
        self.first
    }

    pub(crate) fn waker(&self, token: usize) -> &Waker {
        &self.entries[token].waker
    }

    /// Marks `token` as woken; true if it was not already.
    pub(crate) fn notify(&mut self, token: usize) -> bool {
        !std::mem::replace(&mut self.entries[token].notified, true)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_stays_whole_whoever_leaves() {
        let mut waiters = Waiters::default();
        let mut join = |n| waiters.join(Owner::Connection(n), Waker::noop());
        let [a, b, c, d] = [join(0), join(1), join(2), join(3)];
        assert_eq!(waiters.leave(b), Owner::Connection(1));
        assert_eq!(waiters.first(), Some(a));
        waiters.leave(a);
        assert_eq!(waiters.first(), Some(c));
        waiters.leave(d);
        let e = waiters.join(Owner::Acceptor, Waker::noop());
        waiters.leave(c);
        assert_eq!(waiters.first(), Some(e));
        waiters.leave(e);
        assert_eq!((waiters.first(), waiters.len()), (None, 0));
    }

    #[test]
    fn a_waiter_is_notified_once_between_polls() {
        let mut waiters = Waiters::default();
        let token = waiters.join(Owner::Acceptor, Waker::noop());
        assert!(waiters.notify(token));
        assert!(!waiters.notify(token));
        waiters.renew(token, Waker::noop());
        assert!(waiters.notify(token));
    }
}
