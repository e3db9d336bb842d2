//! The counters, to which all connections of a Chunnel add.

use super::histogram::Histogram;
use super::{Snapshot, Totals};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The counters that all connections share.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) connections: AtomicU64,
    pub(super) sent: Direction,
    pub(super) received: Direction,
    pub(super) latency: Histogram,
}

/// The counters of one direction. They have cache lines of their own, since one task often sends while
/// another receives.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Direction {
    messages: AtomicU64,
    bytes: AtomicU64,
    errors: AtomicU64,
}

impl Direction {
    #[inline]
    pub(super) fn on_messages(&self, messages: u64, bytes: u64) {
        self.messages.fetch_add(messages, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
    }

    pub(super) fn on_error(&self) {
        self.errors.fetch_add(1, Relaxed);
    }

    fn totals(&self) -> Totals {
        let [messages, bytes, errors] =
            [&self.messages, &self.bytes, &self.errors].map(|counter| counter.load(Relaxed));
        Totals { messages, bytes, errors }
    }
}

impl Counters {
    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot {
            connections: self.connections.load(Relaxed),
            sent: self.sent.totals(),
            received: self.received.totals(),
            latency: self.latency.snapshot(),
        }
    }
}
