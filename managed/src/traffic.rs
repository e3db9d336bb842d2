//! The calls of all callers of a daemon that are on their way.

use parking_lot::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::task::Waker;
use std::time::Duration;

/// The calls of all callers of a daemon that are on their way, and the callers that wait for the way. Engines share it that let some calls go
/// before others.
///
/// A lock guards it, since each caller's engines work under a lock of the caller, on any thread. It is held for a burst at most, and
/// nothing under it waits, or wakes anyone.
#[derive(Debug, Default)]
pub struct Traffic(Mutex<Lanes>);

/// The calls that are on their way, each until it ends or a time has passed: one that takes longer is work of its server, and takes no room
/// on the way.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    /// Calls in the order in which they passed; those at the front are on their way.
    passed: VecDeque<Passed>,
    /// The number of the first of them.
    first: u64,
    /// Number of small calls.
    small: usize,
    /// Number of bytes of large requests.
    large: u64,
    /// Callers whose large requests wait, in their order, by rising tickets.
    waiting: VecDeque<Waiting>,
    tickets: u64,
}

#[derive(Debug)]
struct Passed {
    until: Duration,
    takes: Takes,
}

/// The part of the way that a call takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// The call has ended.
    Nothing,
    /// The call is small, and goes before others.
    Precedence,
    /// The call's request has so many bytes.
    Room(u32),
}

#[derive(Debug)]
struct Waiting {
    ticket: u64,
    /// Number of bytes of large requests beside which the first that waits has room.
    beside: u64,
    waker: Waker,
}

impl Traffic {
    /// Returns the calls that are on their way now.
    pub(crate) fn lock(&self, now: Duration) -> MutexGuard<'_, Lanes> {
        let mut lanes = self.0.lock();
        lanes.expire(now);
        lanes
    }

    /// Takes a caller away, whose turn another gets if it was to have it.
    pub(crate) fn leave(&self, ticket: u64) {
        let next = {
            let mut lanes = self.0.lock();
            lanes.leave(ticket);
            lanes.next()
        };
        next.into_iter().for_each(Waker::wake);
    }
}

impl Lanes {
    /// Adds a call that is on its way until a time at most, and returns its number.
    pub(crate) fn pass(&mut self, takes: Takes, until: Duration) -> u64 {
        match takes {
            Takes::Nothing => {}
            Takes::Precedence => self.small += 1,
            Takes::Room(bytes) => self.large += u64::from(bytes),
        }
        self.passed.push_back(Passed { until, takes });
        self.first + (self.passed.len() as u64 - 1)
    }

    /// Ends a call, unless it ended before.
    pub(crate) fn end(&mut self, number: u64) {
        let place = number.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
        if let Some(passed) = place.and_then(|place| self.passed.get_mut(place)) {
            let takes = std::mem::replace(&mut passed.takes, Takes::Nothing);
            self.give_back(takes);
        }
    }

    /// Returns true if a large request may go that has room beside so many bytes of others. While small calls are on their way, each goes
    /// alone: without any, small calls that never end would leave large ones nothing of a way that is idle for the most part.
    pub(crate) fn is_free(&self, beside: u64) -> bool {
        self.large == 0 || self.small == 0 && self.large <= beside
    }

    /// Returns true if it is the turn of a caller: nobody waits, or nobody who came before its ticket.
    pub(crate) fn is_turn_of(&self, ticket: Option<u64>) -> bool {
        self.waiting.front().is_none_or(|first| ticket.is_some_and(|ticket| ticket <= first.ticket))
    }

    /// Adds a caller behind those that wait, and returns its ticket. It is woken once, when it is its turn.
    pub(crate) fn wait(&mut self, beside: u64, waker: Waker) -> u64 {
        self.tickets += 1;
        self.waiting.push_back(Waiting { ticket: self.tickets, beside, waker });
        self.tickets
    }

    /// Returns true if the caller of a ticket has not been woken.
    pub(crate) fn is_waiting(&self, ticket: u64) -> bool {
        self.find(ticket).is_ok()
    }

    /// Takes a caller away.
    pub(crate) fn leave(&mut self, ticket: u64) {
        if let Ok(place) = self.find(ticket) {
            self.waiting.remove(place);
        }
    }

    /// Takes the caller out whose turn it is, who has to be woken when the lock is given up. One that has nothing to send any more, or does
    /// not get to it, calls this again when it does, so that each gets its turn; one that never does has lost its own alone.
    #[must_use]
    pub(crate) fn next(&mut self) -> Option<Waker> {
        let beside = self.waiting.front()?.beside;
        if self.is_free(beside) { self.waiting.pop_front().map(|next| next.waker) } else { None }
    }

    fn find(&self, ticket: u64) -> Result<usize, usize> {
        self.waiting.binary_search_by_key(&ticket, |waiting| waiting.ticket)
    }

    /// Forgets calls at the front that have ended, or have taken their time.
    fn expire(&mut self, now: Duration) {
        while let Some(passed) = self.passed.front()
            && (passed.takes == Takes::Nothing || passed.until <= now)
        {
            let takes = passed.takes;
            self.passed.pop_front();
            self.first += 1;
            self.give_back(takes);
        }
    }

    fn give_back(&mut self, takes: Takes) {
        match takes {
            Takes::Nothing => {}
            Takes::Precedence => self.small -= 1,
            Takes::Room(bytes) => self.large -= u64::from(bytes),
        }
    }
}
