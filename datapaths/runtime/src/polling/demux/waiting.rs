//! The futures that wait at a source, and the one that polls it for all.

use super::{Demux, Key};
use crate::polling::waiters::{Awaited, WaiterKey};
use std::collections::VecDeque;
use std::task::Waker;

/// The part that a waiting future plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The future never polls: it waits at a source that other futures or threads poll.
    Onlooker,
    /// Another future polls at this moment. This future may be [promoted](Demux::promote) later.
    Follower,
    /// The future polls if no other future does, and it takes over when it begins to wait: a future that has
    /// just handled a message is the most likely to get the next message.
    Poller,
}

impl<K: Key, T> Demux<K, T> {
    /// Returns true if the future waits while another future polls.
    #[inline]
    pub fn follows(&self, key: &WaiterKey) -> bool {
        key.waits() && self.poller != key.token
    }

    /// Returns true if futures other than this future wait.
    #[inline]
    pub fn others_wait(&self, key: &WaiterKey) -> bool {
        self.waiters.len() > usize::from(key.waits())
    }

    /// Returns the waker of the polling future.
    pub fn poller(&self) -> Option<Waker> {
        self.poller.map(|token| self.waiters.waker(token).clone())
    }

    /// Lets the caller receive without the lock, and returns true, unless another future does so already. The
    /// caller then calls [`end_receiving`](Self::end_receiving) soon, without waiting in between.
    #[inline]
    pub fn begin_receiving(&mut self) -> bool {
        !std::mem::replace(&mut self.is_receiving, true)
    }

    /// Records that the caller has received, and that everything that arrived was delivered.
    #[inline]
    pub fn end_receiving(&mut self) {
        self.is_receiving = false;
    }

    /// Registers the future as waiting. Returns true if it is the polling future.
    pub fn wait(&mut self, key: &mut WaiterKey, waker: &Waker, role: Role) -> bool {
        let may_poll = role != Role::Onlooker;
        let (token, is_new) = match key.token {
            Some(token) => {
                self.waiters.renew(token, waker, may_poll);
                (token, false)
            }
            None => {
                let token = self.waiters.join(waker, may_poll);
                key.token = Some(token);
                self.waiters_of(key.awaited).push_back(token);
                (token, true)
            }
        };
        let polls = match role {
            Role::Poller => is_new || self.poller.is_none_or(|poller| poller == token),
            Role::Onlooker | Role::Follower => false,
        };
        if polls {
            self.poller = Some(token);
        } else if self.poller == Some(token) {
            // The future that receives at this moment hands the role over to another future.
            self.poller = None;
        }
        polls
    }

    fn waiters_of(&mut self, awaited: Awaited) -> &mut VecDeque<usize> {
        match awaited {
            Awaited::Connection(connection) => &mut self.connections[connection].waiters,
            Awaited::Listener(listener) => &mut self.listeners[listener].waiters,
            Awaited::Event(event) => &mut self.events[event],
        }
    }

    /// Ends the wait of a future, successful or not: messages that the future left wake other futures.
    #[inline]
    pub fn leave(&mut self, key: &mut WaiterKey) {
        if key.waits() {
            self.leave_list(key);
        }
    }

    /// Does the work of `leave` out of line: a future that finds a message at once has not waited.
    #[inline(never)]
    fn leave_list(&mut self, key: &mut WaiterKey) {
        let Some(token) = key.token.take() else { return };
        self.waiters.leave(token);
        let waiters = self.waiters_of(key.awaited);
        waiters.retain(|&other| other != token);
        let others = !waiters.is_empty();
        if self.poller == Some(token) {
            self.poller = None;
        }
        let left = others
            && match key.awaited {
                Awaited::Connection(connection) => self.connections[connection].queue.len() > 0,
                Awaited::Listener(listener) => !self.listeners[listener].backlog.is_empty(),
                // The state of the event is unknown here; the next future looks by itself.
                Awaited::Event(_) => true,
            };
        if left {
            self.notify(key.awaited);
        }
    }

    /// Returns true if futures wait and none of them polls or receives.
    #[inline]
    pub fn lacks_poller(&self) -> bool {
        self.waiters.len() > 0 && self.poller.is_none() && !self.is_receiving
    }

    /// Makes a waiting future the polling future, if no future polls. `arm` is called with its waker, and
    /// returns true if something will call this waker once there may be messages to receive; otherwise the
    /// future is woken. Returns true if some future polls or receives.
    pub fn promote(&mut self, arm: impl FnOnce(&Waker) -> bool) -> bool {
        if self.poller.is_some() || self.is_receiving {
            return true;
        }
        let Some(token) = self.waiters.newest_that_may_poll() else { return false };
        self.poller = Some(token);
        if !arm(self.waiters.waker(token)) {
            self.wake(token);
        }
        true
    }

    /// Wakes a future that waits for `awaited` and was not woken yet.
    pub fn notify(&mut self, awaited: Awaited) {
        let waiting = match awaited {
            Awaited::Connection(connection) => &self.connections[connection].waiters,
            Awaited::Listener(listener) => &self.listeners[listener].waiters,
            Awaited::Event(event) => &self.events[event],
        };
        if let Some(&token) = waiting.iter().find(|&&token| self.waiters.notify(token))
            && (!self.is_busy || self.poller != Some(token))
        {
            self.woken.push(self.waiters.waker(token).clone());
        }
    }

    pub(super) fn wake(&mut self, token: usize) {
        self.waiters.notify(token);
        self.woken.push(self.waiters.waker(token).clone());
    }

    /// Returns true if wakers have to be called once the lock is free.
    #[inline]
    pub fn wakes(&self) -> bool {
        !self.woken.is_empty()
    }

    /// Removes and returns the wakers that have to be called once the lock is free.
    #[inline]
    pub fn take_woken(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.woken)
    }

    /// Returns the emptied list of [`take_woken`](Self::take_woken) to the demultiplexer, so that waking does
    /// not allocate.
    pub fn reuse(&mut self, emptied: Vec<Waker>) {
        if self.woken.capacity() == 0 {
            self.woken = emptied;
        }
    }
}
