//! Waiting until a round is empty where messages are shared. The [argument](super::status) says why.

use super::board::Board;
use super::link::GroupLinkShared;
use super::round::RoundQueue;
use super::share::RoundShare;
use super::status::{Stage, Status};
use bertha_core::{Base, Buf, Connection, Runtime};
use std::sync::Arc;
use std::time::Duration;

/// Pause before the taken messages are counted again.
const LOOK: Duration = Duration::from_millis(2);

/// Limits on the time to wait.
pub(super) struct TimeLimits {
    /// For participants that are there and don't begin the change.
    pub(super) for_others: Duration,
    /// Since the last message that was taken, if other participants may still hold messages.
    pub(super) for_messages: Duration,
}

/// Waits until all participants have changed from the round `old`, and then until the receivers have taken
/// all of its messages.
pub(super) async fn await_emptiness<B: Connection<Data = Buf>>(
    shared: Arc<GroupLinkShared<B>>,
    old: Arc<RoundQueue>,
    share: Arc<RoundShare>,
    board: Arc<Board>,
    limits: TimeLimits,
) {
    let runtime = shared.base.base().runtime();
    let begun = runtime.now();
    let mut latest = None;
    let mut since = begun;
    loop {
        let now = runtime.now();
        let taken = share.taken();
        let is_said = |own: &Status| own.before.is_none_or(|before| before.taken == taken);
        if !is_said(&board.lock().own) {
            board.change(|statuses| {
                statuses.change(|own| {
                    if let Some(before) = &mut own.before {
                        before.taken = taken;
                    }
                });
            });
        }
        let (stage, is_common, takes_over) = {
            let statuses = board.lock();
            (statuses.stage(old.id), statuses.is_common(old.id), statuses.takes_over(old.id))
        };
        let is_late = now.saturating_duration_since(begun) >= limits.for_others;
        if takes_over && !share.has_part() && stage != Stage::Behind {
            tracing::debug!(target: "bertha::negotiation", round = ?old.id, "takes over what is left of a round");
            share.take_over();
            shared.read_for(&old);
        }
        let taken = match stage {
            Stage::Complete => return,
            Stage::Behind if !is_late => None,
            Stage::Open(_) if !is_common => return,
            Stage::Behind => Some(share.taken()),
            Stage::Open(taken) => Some(taken),
        };
        if taken != latest || taken.is_none() {
            (latest, since) = (taken, now);
        }
        if now.saturating_duration_since(since) >= limits.for_messages {
            tracing::warn!(target: "bertha::negotiation", round = ?old.id, "goes on although it is not known whether all messages of a round have taken");
            return;
        }
        runtime.sleep_until(now + LOOK).await;
    }
}
