//! Waiting for the messages that the other participants have sent in the round that is over.

use super::link::GroupLinkShared;
use super::progress::{Rest, SharedProgress};
use super::round::RoundQueue;
use super::round_id::RoundId;
use crate::rendezvous::settings::RendezvousSettings;
use bertha_core::{Base, Buf, Connection, Runtime};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Pause before the missing messages are counted again.
const LOOK: Duration = Duration::from_millis(1);

/// Pause before the other participants are first asked for their progress. It doubles up to [`MAX_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(5);

const MAX_PAUSE: Duration = Duration::from_millis(100);

/// Waits until all participants send in the round `to`, and then until their messages of the `old` round have
/// arrived.
pub(super) async fn await_rest<B: Connection<Data = Buf>>(
    shared: Arc<GroupLinkShared<B>>,
    old: Arc<RoundQueue>,
    to: RoundId,
    progress: SharedProgress,
    settings: RendezvousSettings,
) {
    let runtime = shared.base.base().runtime();
    let from = old.id;
    let begun = runtime.now();
    let mut questions = Questions { at: begun + FIRST_PAUSE, pause: FIRST_PAUSE };
    let is_late = |now: Instant| now.saturating_duration_since(begun) >= settings.handover_timeout;
    loop {
        let now = runtime.now();
        if progress.lock().behind(from, to).next().is_none() {
            break;
        }
        if is_late(now) {
            let silent: Vec<u64> = progress.lock().behind(from, to).collect();
            tracing::warn!(target: "bertha::negotiation", ?silent, "goes on without participants that don't change to the stack in force");
            break;
        }
        questions.ask_if_due(now, &shared, &progress).await;
        runtime.sleep_until(now + LOOK).await;
    }
    // No message is left in the old round that this end would have to answer.
    progress.lock().finish(runtime.now(), old.sent());
    let mut missing = 0;
    let mut since = runtime.now();
    let mut is_here = false;
    loop {
        let now = runtime.now();
        let rest = progress.lock().rest(from, to, settings.drain_timeout);
        let of_sender = |(id, rest): &(u64, Rest)| match rest {
            Rest::Sent(sent) => i64::from(old.senders.missing(*id, *sent).max(0)),
            Rest::Until(_) | Rest::Unknown => 0,
        };
        // The time-out does not depend on arrivals: a participant that has expired may send on in the old
        // round.
        let still_missing: i64 = rest.iter().map(of_sender).sum();
        if still_missing != missing {
            (missing, since) = (still_missing, now);
        }
        let is_silent = rest.iter().any(|(_, rest)| *rest == Rest::Unknown) && !is_late(now);
        let is_gone = |rest: &Rest| matches!(rest, Rest::Until(time) if now < *time);
        let is_missing = missing > 0 || rest.iter().any(|(_, rest)| is_gone(rest));
        let is_given_up = now.saturating_duration_since(since) >= settings.drain_timeout;
        if is_silent {
            // The number of missing messages is not known yet, so the time-out has not begun.
            since = now;
            questions.ask_if_due(now, &shared, &progress).await;
        } else if !is_missing || is_given_up {
            // The numbers are checked once more, since a receiver may hold a message that it has counted just
            // now.
            if std::mem::replace(&mut is_here, true) {
                if is_missing {
                    tracing::debug!(target: "bertha::negotiation", ?rest, "messages before a change of stacks are missing");
                }
                return;
            }
        } else {
            is_here = false;
        }
        runtime.sleep_until(now + LOOK).await;
    }
}

/// The time at which to ask the other participants next.
struct Questions {
    at: Instant,
    pause: Duration,
}

impl Questions {
    async fn ask_if_due<B: Connection<Data = Buf>>(
        &mut self,
        now: Instant,
        shared: &GroupLinkShared<B>,
        progress: &SharedProgress,
    ) {
        if now >= self.at {
            self.pause = (self.pause * 2).min(MAX_PAUSE);
            self.at = now + self.pause;
            let question = progress.lock().question();
            shared.send_progress(&question).await;
        }
    }
}
