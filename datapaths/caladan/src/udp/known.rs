//! The peers of a listener.

use crate::bindings::Events;
use bertha_core::Buf;
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddrV4;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Number of messages that may wait for each connection, and for strangers together: as many as a socket of
/// Caladan's can hold.
const QUEUE: usize = 512;

/// The messages for a connection that came to the listener's socket, before the connection had a socket of
/// its own.
#[derive(Debug)]
pub(super) struct Early {
    messages: Mutex<VecDeque<Buf>>,
    /// True if there are messages; the flag changes under the lock. Mostly there are none, and a reader
    /// learns this without the lock.
    any: AtomicBool,
    events: Arc<Events>,
}

impl Early {
    pub(super) fn new(events: Arc<Events>) -> Self {
        Self { messages: Mutex::default(), any: AtomicBool::new(false), events }
    }

    /// Adds a message. Returns false if too many wait.
    fn add(&self, message: Buf) -> bool {
        let mut messages = self.messages.lock();
        let has_room = messages.len() < QUEUE;
        if has_room {
            messages.push_back(message);
            // Release pairs with the acquire in `next`; waiting futures are woken afterwards.
            self.any.store(true, Ordering::Release);
        }
        drop(messages);
        self.events.wake_all();
        has_room
    }

    #[inline]
    pub(super) fn next(&self) -> Option<Buf> {
        if self.any.load(Ordering::Acquire) { self.take() } else { None }
    }

    #[cold]
    fn take(&self) -> Option<Buf> {
        let mut messages = self.messages.lock();
        let next = messages.pop_front();
        self.any.store(!messages.is_empty(), Ordering::Relaxed);
        next
    }
}

/// The peers that a listener knows: peers with a connection, and peers whose first messages wait.
#[derive(Debug, Default)]
pub(super) struct Known {
    connected: HashMap<SocketAddrV4, Arc<Early>>,
    waiting: VecDeque<(SocketAddrV4, Buf)>,
    /// Number of messages for which there was no room.
    pub(super) dropped: u64,
}

impl Known {
    /// Adds a message that came to the listener's own socket.
    pub(super) fn sort(&mut self, from: SocketAddrV4, message: Buf) {
        let taken = match self.connected.get(&from) {
            Some(early) => early.add(message),
            None if self.waiting.len() < QUEUE => {
                self.waiting.push_back((from, message));
                true
            }
            None => false,
        };
        if !taken {
            self.dropped += 1;
        }
    }

    /// Returns the peer that has waited the longest.
    pub(super) fn next(&self) -> Option<SocketAddrV4> {
        self.waiting.front().map(|(peer, _)| *peer)
    }

    /// Moves a peer's messages to its new connection, and remembers the connection.
    pub(super) fn connect(&mut self, peer: SocketAddrV4, early: &Arc<Early>) {
        self.connected.insert(peer, early.clone());
        for (from, message) in std::mem::take(&mut self.waiting) {
            self.sort(from, message);
        }
    }

    /// Drops the messages of a peer that can't be accepted.
    pub(super) fn refuse(&mut self, peer: SocketAddrV4) {
        let before = self.waiting.len();
        self.waiting.retain(|(from, _)| *from != peer);
        self.dropped += (before - self.waiting.len()) as u64;
    }

    /// Forgets the connection of a peer, unless the peer has a newer connection.
    pub(super) fn forget(&mut self, peer: SocketAddrV4, early: &Arc<Early>) {
        if self.connected.get(&peer).is_some_and(|other| Arc::ptr_eq(other, early)) {
            self.connected.remove(&peer);
        }
    }
}
