//! The admission of offers, with the clock and the counts of the server.

use crate::Settings;
use crate::handshake::{Admission, AdmissionControl, Freshness, ReplayFilter};
use crate::link::LiveCount;
use bertha_core::{Addr, Base, Buf, Connection, Runtime};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Instant;

/// The gate with its clock, and the counts of clients with unvalidated addresses.
pub(super) struct Admissions {
    gate: Mutex<Option<AdmissionControl>>,
    replay_filter: Mutex<Option<ReplayFilter>>,
    settings: Arc<Settings>,
    /// The clients at unvalidated addresses that were let in on their word.
    pub(super) unvalidated: LiveCount,
    /// The clients at unvalidated addresses that have to confirm.
    pub(super) unconfirmed: LiveCount,
}

impl Admissions {
    pub(super) fn new(settings: &Arc<Settings>) -> Self {
        let settings = settings.clone();
        Self {
            gate: Mutex::default(),
            replay_filter: Mutex::default(),
            settings,
            unvalidated: LiveCount::default(),
            unconfirmed: LiveCount::default(),
        }
    }

    /// Returns the treatment of `message`, which arrived on `base`.
    pub(super) fn admit<C: Connection<Data = Buf>>(
        &self,
        now: Instant,
        base: &C,
        message: &[u8],
    ) -> Admission {
        let peer = base.base().peer_addr();
        let unvalidated = self.unvalidated.taken() + self.unconfirmed.taken();
        self.with_gate(now, base, |gate| {
            gate.admit(now, &peer, message, is_certain(base, &peer), unvalidated)
        })
    }

    /// Returns the message that asks the sender of `message` for a proof of its address.
    pub(super) fn retry<C: Connection<Data = Buf>>(
        &self,
        now: Instant,
        base: &C,
        message: &[u8],
    ) -> Admission {
        let peer = base.base().peer_addr();
        self.with_gate(now, base, |gate| gate.retry(now, &peer, message))
    }

    /// Returns true if a client at an unvalidated address has to confirm before the server builds its stack.
    /// Such a confirmation costs the client no round trip, but keeps its first messages waiting. So the
    /// server demands it once the clients that it has accepted without a proof reach half of their maximum.
    pub(super) fn builds_after_confirmation(&self) -> bool {
        self.unvalidated.taken() >= self.settings.unvalidated_clients / 2
    }

    /// Returns the replay filter's knowledge of an offer that came with messages.
    pub(super) fn remembered(&self, now: Instant, offer: &[u8; 32]) -> Freshness {
        self.with_replay_filter(now, |replay_filter| replay_filter.look_up(offer, now))
    }

    /// Remembers that the offer makes a connection, and returns the earlier knowledge of it.
    pub(super) fn insert(&self, now: Instant, offer: [u8; 32]) -> Freshness {
        self.with_replay_filter(now, |replay_filter| replay_filter.insert(offer, now))
    }

    fn with_replay_filter<T>(&self, now: Instant, ask: impl FnOnce(&mut ReplayFilter) -> T) -> T {
        let mut replay_filter = self.replay_filter.lock();
        ask(replay_filter.get_or_insert_with(|| ReplayFilter::new(self.settings.remembered_flights, now)))
    }

    /// Calls `ask` with the gate, which is made with the clock and the randomness of the first client.
    fn with_gate<C, T>(&self, now: Instant, base: &C, ask: impl FnOnce(&mut AdmissionControl) -> T) -> T
    where
        C: Connection<Data = Buf>,
    {
        let mut gate = self.gate.lock();
        let runtime = base.base().runtime();
        ask(gate.get_or_insert_with(|| AdmissionControl::new(&self.settings, || runtime.random(), now)))
    }
}

/// Returns true if the address of this connection's peer can't be forged.
fn is_certain<C: Connection<Data = Buf>>(base: &C, peer: &Addr) -> bool {
    base.base().properties().reliable || !matches!(peer, Addr::Ip(_))
}
