//! The futures that wait, in the order in which they began to.

use slab::Slab;
use std::task::Waker;

/// Whom a future waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A message of the connection with this number.
    Connection(usize),
    /// A connection of the listener with this number.
    Acceptor(usize),
    /// Whatever is announced at the place with this number.
    #[cfg_attr(not(feature = "tcp"), expect(dead_code, reason = "streams wait at places"))]
    Place(usize),
}

/// A future's place among those that wait. It must leave before it is dropped.
#[derive(Debug)]
pub(crate) struct Ticket {
    pub(super) owner: Owner,
    pub(super) token: Option<usize>,
}

impl Ticket {
    pub(crate) fn new(owner: Owner) -> Self {
        Self { owner, token: None }
    }

    /// Whether it is among those that wait.
    #[inline]
    pub(crate) fn waits(&self) -> bool {
        self.token.is_some()
    }
}

/// A doubly linked list through a slab: joining, leaving and finding the last take constant time however many wait, and none
/// allocates once the slab has grown.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    entries: Slab<Waiter>,
    last: Option<usize>,
}

#[derive(Debug)]
struct Waiter {
    waker: Waker,
    /// Woken since it was last polled, so another one of the same owner is to be woken next.
    notified: bool,
    /// It polls the port if it has to.
    may_lead: bool,
    before: Option<usize>,
    after: Option<usize>,
}

impl Waiters {
    pub(super) fn join(&mut self, waker: &Waker, may_lead: bool) -> usize {
        let before = self.last;
        let waiter = Waiter { waker: waker.clone(), notified: false, may_lead, before, after: None };
        let token = self.entries.insert(waiter);
        if let Some(before) = before {
            self.entries[before].after = Some(token);
        }
        self.last = Some(token);
        token
    }

    /// Notes that the future was polled once more and has still found nothing.
    pub(super) fn renew(&mut self, token: usize, waker: &Waker, may_lead: bool) {
        let waiter = &mut self.entries[token];
        (waiter.notified, waiter.may_lead) = (false, may_lead);
        waiter.waker.clone_from(waker);
    }

    pub(super) fn leave(&mut self, token: usize) {
        let Waiter { before, after, .. } = self.entries.remove(token);
        if let Some(before) = before {
            self.entries[before].after = after;
        }
        match after {
            Some(after) => self.entries[after].before = before,
            None => self.last = before,
        }
    }

    /// Who began to wait last of those that may lead.
    pub(super) fn last_that_may_lead(&self) -> Option<usize> {
        std::iter::successors(self.last, |&token| self.entries[token].before)
            .find(|&token| self.entries[token].may_lead)
    }

    pub(super) fn waker(&self, token: usize) -> &Waker {
        &self.entries[token].waker
    }

    /// Marks `token` as woken; true if it was not already.
    pub(super) fn notify(&mut self, token: usize) -> bool {
        !std::mem::replace(&mut self.entries[token].notified, true)
    }
}
