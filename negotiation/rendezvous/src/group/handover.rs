//! The steps of a change that take time.

use super::link::{GroupLink, Shared};
use super::peer_progress::{Rest, Standings};
use super::round::RoundId;
use crate::settings::RendezvousSettings;
use bertha_core::{Base, Buf, Connection, Runtime};
use bertha_negotiation::internals::{Round, Rounds, vacate};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a step sleeps before it looks again.
const LOOK: Duration = Duration::from_millis(1);

/// How long to wait before asking the others where they stand, doubled each time.
const ASK: Duration = Duration::from_millis(5);

/// A round, and the lane below it.
pub(super) struct Stage<C, B: Connection<Data = Buf>> {
    pub(super) round: Arc<Round<C>>,
    pub(super) lane: Arc<super::round::GroupLane>,
    pub(super) shared: Arc<Shared<B>>,
    /// The room in front of messages that the stack has reserved.
    reserved: usize,
}

impl<C, B: Connection<Data = Buf>> Stage<C, B> {
    /// What was built over `link`, when `before` bytes were reserved.
    pub(super) fn new(connection: C, link: &GroupLink<B>, before: usize) -> Self {
        let (shared, lane) = link.parts();
        let reserved = shared.base.base().reserved().saturating_sub(before);
        Self { round: Round::new(connection), lane, shared, reserved }
    }

    /// Forgets a round that is over, or never came into use. Its stack is dropped and not closed: each end has drained it, and a
    /// Chunnel that told the others of its end would end what their receivers have yet to leave, with messages that nobody has
    /// counted.
    pub(super) fn forget(self) {
        self.shared.forget(&self.lane);
        self.shared.base.base().release(self.reserved);
    }
}

impl<C, B: Connection<Data = Buf>> Clone for Stage<C, B> {
    fn clone(&self) -> Self {
        let (round, lane, shared) = (self.round.clone(), self.lane.clone(), self.shared.clone());
        Self { round, lane, shared, reserved: self.reserved }
    }
}

/// Where everyone stands, for the agent and for its steps.
#[derive(Clone)]
pub(super) struct Known(Arc<Mutex<Standings>>);

impl Known {
    pub(super) fn new(standings: Standings) -> Self {
        Self(Arc::new(Mutex::new(standings)))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Standings> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until everyone sends in the next round, and then until what they sent in the old one is here.
pub(super) async fn receive_rest<C, B: Connection<Data = Buf>>(
    old: Stage<C, B>,
    to: RoundId,
    known: Known,
    settings: RendezvousSettings,
) {
    let shared = &*old.shared;
    let runtime = shared.base.base().runtime();
    let (from, begun) = (old.lane.id, runtime.now());
    let mut asking = Asking { at: begun + ASK, pause: ASK };
    let is_late = |now: Instant| now.saturating_duration_since(begun) >= settings.handover_timeout;
    loop {
        let now = runtime.now();
        if known.lock().behind(from, to).next().is_none() {
            break;
        }
        if is_late(now) {
            let silent: Vec<u64> = known.lock().behind(from, to).collect();
            tracing::warn!(?silent, "goes on without participants that don't change to the stack in force");
            break;
        }
        asking.ask(now, shared, &known).await;
        runtime.sleep_until(now + LOOK).await;
    }
    // Nobody has anything left in the old round that this end would have to answer.
    known.lock().finished(runtime.now(), old.lane.sent());
    let (mut missing, mut since, mut is_here) = (0, runtime.now(), false);
    loop {
        let now = runtime.now();
        let rest = known.lock().rest(from, to, settings.drain_timeout);
        let of_whom = |(id, rest): &(u64, Rest)| match rest {
            Rest::Sent(sent) => i64::from(old.lane.senders.missing(*id, *sent).max(0)),
            Rest::Until(_) | Rest::Unknown => 0,
        };
        // Not by what arrives: who is no longer there may send on in the old round.
        let still_missing: i64 = rest.iter().map(of_whom).sum();
        if still_missing != missing {
            (missing, since) = (still_missing, now);
        }
        let is_silent = rest.iter().any(|(_, rest)| *rest == Rest::Unknown) && !is_late(now);
        let is_gone = |rest: &Rest| matches!(rest, Rest::Until(time) if now < *time);
        let is_missing = missing > 0 || rest.iter().any(|(_, rest)| is_gone(rest));
        let is_given_up = now.saturating_duration_since(since) >= settings.drain_timeout;
        if is_silent {
            // What is missing is not known yet, so it is not waited for yet.
            since = now;
            asking.ask(now, shared, &known).await;
        } else if !is_missing || is_given_up {
            // Once more, since a reader may have one in its hands that it has counted just now.
            if std::mem::replace(&mut is_here, true) {
                if is_missing {
                    tracing::debug!(?rest, "messages before a change of stacks are missing");
                }
                return;
            }
        } else {
            is_here = false;
        }
        runtime.sleep_until(now + LOOK).await;
    }
}

/// Lets the old stack run dry, and waits until no receiver is in it any more.
pub(super) async fn leave<C, B: Connection<Data = Buf>>(rounds: Arc<Rounds<C>>, old: Stage<C, B>) {
    let runtime = old.shared.base.base().runtime();
    old.round.end();
    old.lane.lane.end();
    old.shared.liveness.wake();
    while !old.round.is_empty() {
        runtime.sleep_until(runtime.now() + LOOK).await;
    }
    vacate(&rounds.receiving, runtime).await;
}

/// When to ask the others next.
struct Asking {
    at: Instant,
    pause: Duration,
}

impl Asking {
    async fn ask<B: Connection<Data = Buf>>(&mut self, now: Instant, shared: &Shared<B>, known: &Known) {
        if now >= self.at {
            self.pause = (self.pause * 2).min(Duration::from_millis(100));
            self.at = now + self.pause;
            let question = known.lock().question();
            shared.say(&question).await;
        }
    }
}
