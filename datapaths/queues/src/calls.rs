//! Counters of the calls of a service's API.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The calls that a queue connection made, by kind. Repeated calls and failed calls count, since services
/// bill both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Calls {
    /// Number of calls that publish.
    pub publish: u64,
    /// Number of calls that receive, with or without result.
    pub receive: u64,
    /// Number of calls that acknowledge.
    pub acknowledge: u64,
    /// Number of calls that give messages back.
    pub give_back: u64,
    /// Number of messages that the service accepted.
    pub published: u64,
    /// Number of messages that the service delivered; each delivery counts.
    pub received: u64,
    /// Number of messages that were dropped by the application, and whose acknowledgement the service did not
    /// accept: they are delivered again.
    pub unacknowledged: u64,
    /// Number of bytes of messages in calls that publish.
    pub published_bytes: u64,
    /// Number of bytes of messages that were received.
    pub received_bytes: u64,
}

impl Calls {
    /// Returns the number of all calls.
    pub fn total(&self) -> u64 {
        self.publish + self.receive + self.acknowledge + self.give_back
    }
}

/// Counters of a working connection. Relaxed accesses suffice: no value depends on another value.
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
    /// Counts a call that publishes.
    pub(crate) fn publishes(&self, bytes: usize) {
        self.publish.fetch_add(1, Relaxed);
        self.published_bytes.fetch_add(bytes as u64, Relaxed);
    }

    /// Counts messages that the service accepted.
    pub(crate) fn has_published(&self, messages: usize) {
        self.published.fetch_add(messages as u64, Relaxed);
    }

    /// Counts a call that receives.
    pub(crate) fn receives(&self) {
        self.receive.fetch_add(1, Relaxed);
    }

    /// Counts messages that arrived.
    pub(crate) fn has_received(&self, messages: usize, bytes: usize) {
        self.received.fetch_add(messages as u64, Relaxed);
        self.received_bytes.fetch_add(bytes as u64, Relaxed);
    }

    /// Counts a call that acknowledges.
    pub(crate) fn acknowledges(&self) {
        self.acknowledge.fetch_add(1, Relaxed);
    }

    /// Counts lost acknowledgements.
    pub(crate) fn has_not_acknowledged(&self, messages: usize) {
        self.unacknowledged.fetch_add(messages as u64, Relaxed);
    }

    /// Counts a call that gives messages back.
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
