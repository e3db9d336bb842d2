//! The clients that a server gave up or refused because it had no room.

use bertha_core::Addr;
use bertha_core::log_pause::LogPause;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The clients that a server gave up or refused because it had no room for all. The server has sent each of
/// them the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Overload {
    /// Handshakes that were given up for newcomers, since their peers had not been heard for longest:
    /// [`Settings::concurrent_handshakes`](crate::Settings::concurrent_handshakes), or the descriptors of the
    /// process, were used up.
    pub handshakes: u64,
    /// Unused connections that were given up for newcomers.
    pub connections: u64,
    /// Clients that were refused, since there were as many connections as
    /// [`Settings::connections`](crate::Settings::connections) allows. Each is also an error of
    /// [`Incoming::next_or_refusal`](crate::Incoming::next_or_refusal).
    pub refused: u64,
    /// Attempts to accept a client that failed since the process had no descriptor or memory left.
    pub exhausted: u64,
}

/// A running count of [`Overload`], which tells the log at most once a second.
#[derive(Debug, Default)]
pub(super) struct OverloadCount {
    handshakes: AtomicU64,
    connections: AtomicU64,
    refused: AtomicU64,
    exhausted: AtomicU64,
    pause: Mutex<LogPause>,
}

/// A way in which room was lacking.
#[derive(Debug, Clone, Copy)]
pub(super) enum Lack {
    Handshake,
    Connection,
    Refused,
    Exhausted,
}

impl OverloadCount {
    pub(super) fn get(&self) -> Overload {
        let [handshakes, connections, refused, exhausted] =
            [&self.handshakes, &self.connections, &self.refused, &self.exhausted]
                .map(|count| count.load(Ordering::Relaxed));
        Overload { handshakes, connections, refused, exhausted }
    }

    /// Counts a lack of room, for the client at `peer` if the address is known.
    pub(super) fn count(&self, lack: Lack, peer: Option<&Addr>, now: Instant) {
        let (count, what) = match lack {
            Lack::Handshake => (&self.handshakes, "gave a handshake up for others"),
            Lack::Connection => (&self.connections, "gave an unused connection up for others"),
            Lack::Refused => {
                (&self.refused, "refused a client: there are as many connections as are allowed")
            }
            Lack::Exhausted => (&self.exhausted, "could not accept: descriptors or memory are used up"),
        };
        count.fetch_add(1, Ordering::Relaxed);
        tracing::debug!(target: "bertha::negotiation", peer = peer.map(tracing::field::display), "{what}");
        if self.pause.lock().is_over(Some(now)) {
            tracing::warn!(target: "bertha::negotiation", peer = peer.map(tracing::field::display), overload = ?self.get(), "{what}");
        }
    }
}
