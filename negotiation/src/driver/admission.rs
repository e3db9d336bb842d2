//! Which offers are decided at all.

use crate::Settings;
use crate::handshake::{Admission, Gate, Memory, Strikes};
use crate::link::Places;
use bertha_core::{Addr, Base, Buf, Connection, Runtime};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The gate with its clock, and the counts of clients that may be anybody.
pub(super) struct Admissions {
    gate: Mutex<Option<Gate>>,
    strikes: Mutex<Option<Strikes>>,
    settings: Arc<Settings>,
    /// Clients that were accepted on their word.
    pub(super) unproven: Places,
    /// Clients that have to confirm.
    pub(super) unconfirmed: Places,
}

impl Admissions {
    pub(super) fn new(settings: &Arc<Settings>) -> Self {
        let settings = settings.clone();
        Self {
            gate: Mutex::default(),
            strikes: Mutex::default(),
            settings,
            unproven: Places::default(),
            unconfirmed: Places::default(),
        }
    }

    /// Whether `message`, which came on `base`, shall be decided.
    pub(super) fn admit<C: Connection<Data = Buf>>(
        &self,
        now: Instant,
        base: &C,
        message: &[u8],
    ) -> Admission {
        let peer = base.base().peer_addr();
        let unproven = self.unproven.taken() + self.unconfirmed.taken();
        self.with_gate(now, base, |gate| gate.admit(now, &peer, message, is_certain(base, &peer), unproven))
    }

    /// What asks the sender of `message` for a proof of its address.
    pub(super) fn retry<C: Connection<Data = Buf>>(
        &self,
        now: Instant,
        base: &C,
        message: &[u8],
    ) -> Admission {
        let peer = base.base().peer_addr();
        self.with_gate(now, base, |gate| gate.retry(now, &peer, message))
    }

    /// Whether a client that may be anybody has to confirm before anything is built for it. That costs it no round trip,
    /// but the server a few messages; so it is asked of all once half of those that need not are there.
    pub(super) fn asks_for_confirmation(&self) -> bool {
        self.unproven.taken() >= self.settings.unproven_clients / 2
    }

    /// What is remembered of an offer that came with messages.
    pub(super) fn remembered(&self, now: Instant, offer: &[u8; 32]) -> Memory {
        self.with_strikes(now, |strikes| strikes.look_up(offer, now))
    }

    /// Remembers that it makes a connection, and says what was remembered before.
    pub(super) fn strike(&self, now: Instant, offer: [u8; 32]) -> Memory {
        self.with_strikes(now, |strikes| strikes.strike(offer, now))
    }

    fn with_strikes<T>(&self, now: Instant, ask: impl FnOnce(&mut Strikes) -> T) -> T {
        let mut strikes = self.strikes.lock().unwrap_or_else(PoisonError::into_inner);
        ask(strikes.get_or_insert_with(|| Strikes::new(self.settings.remembered_flights, now)))
    }

    /// The first client brings the clock and the randomness along.
    fn with_gate<C, T>(&self, now: Instant, base: &C, ask: impl FnOnce(&mut Gate) -> T) -> T
    where
        C: Connection<Data = Buf>,
    {
        let mut gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        let runtime = base.base().runtime();
        ask(gate.get_or_insert_with(|| Gate::new(&self.settings, || runtime.random(), now)))
    }
}

/// Whether nobody can pretend to have the address of this connection's peer.
fn is_certain<C: Connection<Data = Buf>>(base: &C, peer: &Addr) -> bool {
    base.base().properties().reliable || !matches!(peer, Addr::Ip(_))
}
