//! The calls of a service's API, counted.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The calls that a queue connection made, by kind. Repetitions count, and calls that failed, since services bill both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Calls {
    /// Calls that publish.
    pub publish: u64,
    /// Calls that receive, with or without result.
    pub receive: u64,
    /// Calls that acknowledge.
    pub acknowledge: u64,
    /// Calls that give messages back.
    pub give_back: u64,
    /// Messages that the service took.
    pub published: u64,
    /// Messages that the service delivered, each time that it did.
    pub received: u64,
    /// Messages that were let go of, and whose acknowledgement the service did not take: they are delivered again.
    pub unacknowledged: u64,
    /// Bytes of messages in calls that publish.
    pub published_bytes: u64,
    /// Bytes of messages that were received.
    pub received_bytes: u64,
}

impl Calls {
    /// All calls.
    pub fn total(&self) -> u64 {
        self.publish + self.receive + self.acknowledge + self.give_back
    }
}

/// Counts while the connection works. Relaxed: each is a number by itself.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    publish: AtomicU64,
    receive: AtomicU64,
    acknowledge: AtomicU64,
    give_back: AtomicU64,
    published: AtomicU64,
    received: AtomicU64,
    unacknowledged: AtomicU64,
    published_bytes: AtomicU64,
    received_bytes: AtomicU64,
}

impl Counters {
    /// A call that publishes begins.
    pub(crate) fn publishes(&self, bytes: usize) {
        self.publish.fetch_add(1, Relaxed);
        self.published_bytes.fetch_add(bytes as u64, Relaxed);
    }

    /// The service took messages.
    pub(crate) fn has_published(&self, messages: usize) {
        self.published.fetch_add(messages as u64, Relaxed);
    }

    /// A call that receives begins.
    pub(crate) fn receives(&self) {
        self.receive.fetch_add(1, Relaxed);
    }

    /// Messages arrived.
    pub(crate) fn has_received(&self, messages: usize, bytes: usize) {
        self.received.fetch_add(messages as u64, Relaxed);
        self.received_bytes.fetch_add(bytes as u64, Relaxed);
    }

    /// A call that acknowledges begins.
    pub(crate) fn acknowledges(&self) {
        self.acknowledge.fetch_add(1, Relaxed);
    }

    /// Acknowledgements are lost.
    pub(crate) fn has_not_acknowledged(&self, messages: usize) {
        self.unacknowledged.fetch_add(messages as u64, Relaxed);
    }

    /// A call that gives messages back begins.
    pub(crate) fn gives_back(&self) {
        self.give_back.fetch_add(1, Relaxed);
    }

    pub(crate) fn calls(&self) -> Calls {
        Calls {
            publish: self.publish.load(Relaxed),
            receive: self.receive.load(Relaxed),
            acknowledge: self.acknowledge.load(Relaxed),
            give_back: self.give_back.load(Relaxed),
            published: self.published.load(Relaxed),
            received: self.received.load(Relaxed),
            unacknowledged: self.unacknowledged.load(Relaxed),
            published_bytes: self.published_bytes.load(Relaxed),
            received_bytes: self.received_bytes.load(Relaxed),
        }
    }
}
