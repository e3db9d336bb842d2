//! The lines of the log about parties that are not taken.

use crate::admission::not_taken_counts::{Door, NotTakenCounts, Reason};
use bertha_core::log_pause::LogPause;
use bertha_core::{Addr, Error, ErrorKind};
use parking_lot::Mutex;
use std::fmt::Display;
use std::net::SocketAddr;
use std::time::Instant;

/// The parties that are not taken. Each kind has its own lines, so that one hides no other.
#[derive(Debug, Default)]
pub(crate) struct NotTaken {
    pub(crate) counts: NotTakenCounts,
    applications: Refusals,
    daemons: Refusals,
    strangers: Refusals,
    failed: Refusals,
    evictions: Refusals,
    unaccepted: Refusals,
}

impl NotTaken {
    pub(crate) fn application(&self, reason: &Error) {
        self.counts.add(Door::Socket, Reason::of(reason));
        if let Some(count) = self.applications.due(Instant::now()) {
            tracing::warn!(%reason, count, "an application is not taken");
        }
    }

    pub(crate) fn daemon(&self, peer: &Addr, error: &Error) {
        self.count_daemon(error);
        self.tell_of_daemon(peer, error);
    }

    /// Counts a daemon that is not taken. One that is [`Exhausted`](ErrorKind::Exhausted) was given up for a newcomer, with whom it was counted.
    pub(crate) fn count_daemon(&self, error: &Error) {
        if error.kind() != ErrorKind::Exhausted {
            self.counts.add(Door::Listen, Reason::of(error));
        }
    }

    /// Tells that an address has all connections that one may have.
    pub(crate) fn beyond(&self, door: Door, peer: &Addr, per_address: usize) {
        self.counts.add(door, Reason::PerAddress);
        let reason = format_args!("its address has {per_address} connections (--per-address)");
        match door {
            Door::Grpc => self.tell_of_stranger(peer, &reason),
            _ => self.tell_of_daemon(peer, &reason),
        }
    }

    /// Tells of a caller over HTTP/2 that a service refuses.
    pub(crate) fn stranger(&self, peer: &Addr, reason: &dyn Display) {
        self.counts.add(Door::Grpc, Reason::Refused);
        self.tell_of_stranger(peer, reason);
    }

    fn tell_of_daemon(&self, peer: &Addr, reason: &dyn Display) {
        if let Some(count) = self.daemons.due(Instant::now()) {
            tracing::warn!(%peer, %reason, count, "a daemon is not taken");
        }
    }

    fn tell_of_stranger(&self, peer: &Addr, reason: &dyn Display) {
        if let Some(count) = self.strangers.due(Instant::now()) {
            tracing::warn!(%peer, %reason, count, "a caller over HTTP/2 is not taken");
        }
    }

    /// Tells that all places of a port are taken, of which the connection from an address gives its own to a newcomer.
    pub(crate) fn full(&self, door: Door, from: &Addr) {
        self.counts.add(door, Reason::Evicted);
        self.given_up(door, from);
    }

    /// Tells that a connection is given up for a newcomer, which its own end counts.
    pub(crate) fn given_up(&self, door: Door, from: &dyn Display) {
        let port = door.name();
        if let Some(count) = self.evictions.due(Instant::now()) {
            tracing::warn!(port, %from, count, "all places are taken, and a connection is closed for a newcomer");
        }
    }

    /// Tells that the system gives no connection, mostly for want of descriptors.
    pub(crate) fn unaccepted(&self, door: Door, error: &dyn Display) {
        self.counts.add(door, Reason::Unaccepted);
        if let Some(count) = self.unaccepted.due(Instant::now()) {
            tracing::warn!(%error, count, "no connection is taken");
        }
    }

    /// Tells of a stranger that was taken, and whose connection has failed.
    pub(crate) fn failed(&self, peer: SocketAddr, error: &dyn Display) {
        self.counts.add(Door::Grpc, Reason::Failed);
        if let Some(count) = self.failed.due(Instant::now()) {
            tracing::info!(%peer, %error, count, "a connection of HTTP/2 has failed");
        }
    }
}

/// The refusals of one kind. Strangers cause as many as they like, and the log has a line a second.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Mutex<(LogPause, u64)>);

impl Refusals {
    /// Counts a refusal. If a line is due, returns the number of refusals since the last line, with this one.
    pub(crate) fn due(&self, now: Instant) -> Option<u64> {
        let (pause, count) = &mut *self.0.lock();
        *count += 1;
        pause.is_over(Some(now)).then(|| std::mem::take(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_line_tells_of_all_refusals_since_the_last() {
        let (refusals, start) = (Refusals::default(), Instant::now());
        let due = [0, 1, 999, 1000, 1001, 2500].map(|at| refusals.due(start + Duration::from_millis(at)));
        assert_eq!(due, [Some(1), None, None, Some(3), None, Some(2)]);
    }
}
