//! Clients that were answered, and have to confirm before the server builds their stacks.

use super::amplification::AmplificationLimit;
use super::overtaken::Overtaken;
use super::server::Accepted;
use crate::wire::{self, Kind, Tag, offer_in};
use bertha_core::Buf;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Maximum number of offers with different ids that are kept for an address. There are several, so that a
/// replayed offer does not push out the client's offer. An attacker that has recorded more offers does push
/// it out; then the client gets an are-you-there, and makes its offer again together with its confirmation.
pub(crate) const CANDIDATES: usize = 4;

/// Maximum pause between two unprompted answers.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// The candidates for a connection with an address.
///
/// `handle` takes arriving messages, `add` the decision about an offer; `poll_transmit` gives an answer that
/// is to be repeated, since answer or confirmation may have been lost. All answers stay within the
/// anti-amplification limit of the address.
#[derive(Debug)]
pub(crate) struct ConfirmationWait {
    candidates: VecDeque<(Accepted, Overtaken)>,
    most_early: usize,
    amplification_limit: AmplificationLimit,
    shortest_pause: Duration,
    pause: Duration,
    last: Instant,
    next: Instant,
}

/// The effect of a received message.
#[derive(Debug)]
pub(crate) enum Step {
    /// Nothing: it is dropped and counted.
    Drop,
    /// The message belongs to no candidate. Its sender may have been a candidate, and gets an are-you-there.
    Unknown(Buf),
    /// The message was kept, or has no effect.
    Kept,
    /// A new offer, which raises the limit: decide it, and [`add`](ConfirmationWait::add) it if it is
    /// accepted.
    Decide(Buf),
    /// An offer that was answered before: send this answer.
    Repeat(Vec<u8>),
    /// A client has confirmed: build its stack. The messages have overtaken the confirmation.
    Confirmed(Box<Accepted>, VecDeque<Buf>),
}

impl ConfirmationWait {
    /// Waits for the confirmation of `first`, whose answer was sent and has left `amplification_limit`. At
    /// most `most_early` messages that overtake the confirmation are kept. The answer is repeated after
    /// `pause`, and then after pauses that double.
    pub(crate) fn new(
        first: Accepted,
        amplification_limit: AmplificationLimit,
        most_early: usize,
        pause: Duration,
        now: Instant,
    ) -> Self {
        Self {
            candidates: VecDeque::from([(first, Overtaken::default())]),
            most_early,
            amplification_limit,
            shortest_pause: pause,
            pause,
            last: now,
            next: now + pause,
        }
    }

    /// When to call [`poll_transmit`](Self::poll_transmit) next.
    pub(crate) fn poll_timeout(&self) -> Instant {
        self.next
    }

    /// An answer that is to be repeated now; those of several candidates take turns.
    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<Vec<u8>> {
        if now < self.next {
            return None;
        }
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        (self.last, self.next) = (now, now + self.pause);
        self.candidates.rotate_left(1);
        let (known, _) = self.candidates.back()?;
        let reply = known.reply.clone();
        self.amplification_limit.spend(reply.len()).then_some(reply)
    }

    /// Takes a message that arrived.
    pub(crate) fn handle(&mut self, message: Buf) -> Step {
        if let Some((offer, _)) = offer_in(&message) {
            let hash = crate::auth::offer_hash(offer);
            let Some((known, _)) = self.candidates.iter().find(|(it, _)| it.offer == hash) else {
                return Step::Decide(message);
            };
            self.amplification_limit.receive(message.len());
            return if self.amplification_limit.spend(known.reply.len()) {
                Step::Repeat(known.reply.clone())
            } else {
                Step::Drop
            };
        }
        let Some((kind, tag)) = wire::header(&message) else { return Step::Drop };
        // An observer may have made an offer with the id of another, so several candidates may have the tag.
        if !self.candidates.iter().any(|(it, _)| Tag::of(it.id) == tag) {
            return Step::Unknown(message);
        }
        self.amplification_limit.receive(message.len());
        match kind {
            Kind::Confirm => {
                let is_confirmed = |it: &Accepted| Tag::of(it.id) == tag && it.is_confirmed_by(&message);
                let at = self.candidates.iter().position(|(it, _)| is_confirmed(it));
                let Some((confirmed, overtaken)) = at.and_then(|at| self.candidates.remove(at)) else {
                    return Step::Drop;
                };
                Step::Confirmed(Box::new(confirmed), overtaken.into_messages())
            }
            Kind::Data | Kind::KeepAlive | Kind::Close => {
                // It takes itself for connected, so its confirmation was lost.
                self.next = self.next.min(self.last + self.shortest_pause);
                let mut is_kept = false;
                let of_tag = self.candidates.iter_mut().filter(|(it, _)| Tag::of(it.id) == tag);
                for (_, overtaken) in of_tag.filter(|_| kind == Kind::Data) {
                    is_kept |= overtaken.keep(&message, self.most_early);
                }
                if is_kept { Step::Kept } else { Step::Drop }
            }
            _ => Step::Drop,
        }
    }

    /// Adds a candidate and the limit of its offer, and returns its reply, if the limit allows the reply.
    pub(crate) fn add(
        &mut self,
        accepted: Accepted,
        amplification_limit: AmplificationLimit,
    ) -> Option<Vec<u8>> {
        self.amplification_limit.add(amplification_limit);
        if !self.amplification_limit.spend(accepted.reply.len()) {
            return None;
        }
        if self.candidates.len() == CANDIDATES {
            self.candidates.pop_front();
        }
        let reply = accepted.reply.clone();
        self.candidates.push_back((accepted, Overtaken::default()));
        Some(reply)
    }
}

impl Accepted {
    /// Returns true if `message` is the client's confirmation of this answer.
    pub fn is_confirmed_by(&self, message: &[u8]) -> bool {
        self.session
            .decode_confirm(message)
            .is_ok_and(|confirm| confirm.id == self.id && Some(confirm.number) == self.answer.confirm)
    }
}
