//! Changing the stack of a connection in use: an agreement of two ends, of which either may propose.
//!
//! ```text
//! proposer                                other end
//!   | Propose  ---------------------------->  | finds a stack
//!   | builds its stack  <--------  Accept     | builds its stack
//!   |                   <-- Accept, ready     |
//!   | stops sending in the old round, drains  |
//!   | Begin    ---------------------------->  | stops sending in the old round, drains
//!   | sends in the new round  <----  Begin    | sends in the new round
//! ```
//!
//! Until its `Begin` is sent the proposer can give up, and nothing has changed; from then on both ends change. The other
//! end is bound once it was ready, and its old stack works on meanwhile. Each attempt has a number of its own, higher than
//! all that its proposer has seen, so that late messages of an earlier one are recognised.

use super::pick::Pick;
use crate::auth::hash;
use crate::handshake::{Requirements, check_picks, find_wished};
use crate::wire::{self, Offer, Upgrade, UpgradeStep};
use bertha_core::{Error, ErrorKind, Node, Role};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Pauses between repetitions grow up to this.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// One end's part in changing the stack.
#[derive(Debug)]
pub(crate) struct Upgrades {
    id: u64,
    role: Role,
    nodes: Vec<Node>,
    requirements: Requirements,
    /// How long a proposal may take, and when it is first repeated.
    patience: Duration,
    repeat_after: Duration,
    /// This end's picks in force.
    picks: Vec<u8>,
    in_force: u64,
    /// The highest number seen.
    highest: u64,
    phase: Phase,
    wish: Option<Wish>,
    repeat: Option<(Instant, Duration)>,
    said: VecDeque<Upgrade>,
    acts: VecDeque<Act>,
}

/// What the application asked for, and until when.
#[derive(Debug, Clone)]
struct Wish {
    pick: Pick,
    until: Instant,
}

/// What an attempt agreed on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Terms {
    /// Which branch of each of this end's choices.
    pub picks: Vec<u8>,
    /// Why alternatives were passed over.
    pub reasons: String,
}

#[derive(Debug)]
enum Phase {
    Idle,
    Proposing {
        round: u64,
        wish: Wish,
        offer: Offer,
        accepted: Option<Terms>,
        is_built: bool,
        is_ready: bool,
    },
    Staging {
        round: u64,
        accept: UpgradeStep,
        terms: Terms,
        is_built: bool,
    },
    Switching {
        round: u64,
        wish: Option<Wish>,
        terms: Terms,
        /// What this end has sent in the old round, once that is over.
        sent: Option<u64>,
        is_seen: bool,
        has_peer_begun: bool,
        has_received: bool,
        is_retired: bool,
    },
}

/// What there is to do.
#[derive(Debug)]
pub(crate) enum Act {
    /// Make a link for this round.
    Stage {
        /// Its number.
        round: u64,
    },
    /// Build a stack on it.
    Build {
        /// With these alternatives.
        picks: Vec<u8>,
        /// A hash of what the ends said to agree on it, which is the same on both.
        said: [u8; 32],
    },
    /// Throw away what was staged and built.
    Discard,
    /// Let no more sends start in the old round, wait for those under way, and drain it; then say
    /// [`sent`](Upgrades::sent).
    EndSending {
        /// Whether it may fail, after which the old round goes on.
        may_fail: bool,
    },
    /// Send in the new round from now on.
    Begin {
        /// Its number.
        round: u64,
        /// What it is.
        terms: Terms,
    },
    /// Receive what is left of the old round, so many messages altogether, and then in the new one; then say
    /// [`received`](Upgrades::received).
    EndReceiving {
        /// How many messages the other end's application has sent in it.
        sent: u64,
    },
    /// Drop the old round's stack, without closing it: the other end may still receive what it has drained.
    Retire,
    /// Tell the application what became of its wish.
    Report(Result<(), Error>),
}

impl Upgrades {
    /// Of the connection `id`, whose stack describes itself as `nodes` and begins with `picks`.
    pub(crate) fn new(
        (id, role): (u64, Role),
        nodes: Vec<Node>,
        picks: Vec<u8>,
        requirements: Requirements,
        (patience, repeat_after): (Duration, Duration),
    ) -> Self {
        Self {
            id,
            role,
            nodes,
            requirements,
            patience,
            repeat_after,
            picks,
            in_force: 0,
            highest: 0,
            phase: Phase::Idle,
            wish: None,
            repeat: None,
            said: VecDeque::new(),
            acts: VecDeque::new(),
        }
    }

    /// Whether no change is under way.
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Idle) && self.wish.is_none() && self.acts.is_empty()
    }

    /// Whether a wish is neither granted nor refused yet; then there may be no other.
    pub(crate) fn has_wish(&self) -> bool {
        self.wish.is_some()
            || matches!(self.phase, Phase::Proposing { .. } | Phase::Switching { wish: Some(_), .. })
    }

    /// The application asks for other alternatives.
    pub(crate) fn wish(&mut self, now: Instant, pick: Pick) {
        self.wish = Some(Wish { pick, until: now + self.patience });
        self.propose(now);
    }

    /// What there is to do next.
    pub(crate) fn poll_act(&mut self) -> Option<Act> {
        self.acts.pop_front()
    }

    /// When to call [`poll_transmit`](Self::poll_transmit) next, if nothing else happens.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let until = match &self.phase {
            Phase::Proposing { wish, .. } => Some(wish.until),
            _ => self.wish.as_ref().map(|wish| wish.until),
        };
        let repeat = self.repeat.map(|(at, _)| at);
        until.into_iter().chain(repeat).min()
    }

    /// What there is to say, before what there is to do.
    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<Upgrade> {
        self.give_up_late_wishes(now);
        if let Some((at, pause)) = self.repeat
            && now >= at
        {
            self.repeat = None;
            let again = match &self.phase {
                Phase::Proposing { round, offer, .. } => {
                    Some((*round, UpgradeStep::Propose { offer: offer.clone() }))
                }
                Phase::Staging { round, accept, is_built: true, .. } => Some((*round, accept.clone())),
                Phase::Switching { round, sent: Some(sent), is_seen: false, .. } => {
                    Some((*round, UpgradeStep::Begin { sent: *sent }))
                }
                _ => None,
            };
            if let Some((round, step)) = again {
                self.say(round, step);
                self.repeat = Some((now + pause, (pause * 2).min(LONGEST_PAUSE)));
            }
        }
        self.said.pop_front()
    }

    fn give_up_late_wishes(&mut self, now: Instant) {
        if self.wish.as_ref().is_some_and(|wish| now >= wish.until) {
            self.wish = None;
            let what = "another change of the stack took the whole time";
            self.acts.push_back(Act::Report(Err(error(ErrorKind::TimedOut, what))));
        }
        if matches!(&self.phase, Phase::Proposing { wish, .. } if now >= wish.until) {
            let what = "the other end did not agree to another stack in time; it may not be receiving, or it was not heard, since a `recv` here is kept and not polled";
            self.abort(now, error(ErrorKind::TimedOut, what));
        }
    }

    fn say(&mut self, round: u64, step: UpgradeStep) {
        self.said.push_back(Upgrade { id: self.id, round, step });
    }

    fn repeat_from(&mut self, now: Instant) {
        self.repeat = Some((now + self.repeat_after, self.repeat_after * 2));
    }

    /// Proposes what is wished, if nothing else is under way.
    fn propose(&mut self, now: Instant) {
        let Phase::Idle = self.phase else { return };
        let Some(wish) = self.wish.take() else { return };
        let wanted = match wish.pick.preferred(&self.nodes, &self.picks) {
            Ok(wanted) => wanted,
            Err(error) => return self.acts.push_back(Act::Report(Err(error))),
        };
        if wish.pick.is_met(&self.nodes, &self.picks) {
            return self.acts.push_back(Act::Report(Ok(())));
        }
        match Offer::new(self.id, &wanted) {
            Ok(offer) => self.propose_as(now, self.highest + 1, wish, offer),
            Err(mismatch) => {
                let invalid = error(ErrorKind::Invalid, format!("the stack can't be offered: {mismatch}"));
                self.acts.push_back(Act::Report(Err(invalid)));
            }
        }
    }

    fn propose_as(&mut self, now: Instant, round: u64, wish: Wish, offer: Offer) {
        self.highest = round;
        self.say(round, UpgradeStep::Propose { offer: offer.clone() });
        self.repeat_from(now);
        self.acts.push_back(Act::Stage { round });
        self.phase =
            Phase::Proposing { round, wish, offer, accepted: None, is_built: false, is_ready: false };
    }

    /// Gives up what this end has proposed.
    fn abort(&mut self, now: Instant, because: Error) {
        if let Phase::Proposing { round, .. } | Phase::Switching { round, .. } = self.phase {
            self.say(round, UpgradeStep::Abort);
            self.acts.push_back(Act::Discard);
            self.acts.push_back(Act::Report(Err(because)));
            self.rest(now);
        }
    }

    /// Nothing is under way any more; goes on with what waits.
    fn rest(&mut self, now: Instant) {
        self.phase = Phase::Idle;
        self.repeat = None;
        self.propose(now);
    }

    /// The other end says something.
    pub(crate) fn handle(&mut self, now: Instant, Upgrade { round, step, .. }: Upgrade) {
        match step {
            UpgradeStep::Propose { offer } => self.proposed(now, round, &offer),
            UpgradeStep::Accept { is_ready, proposer_picks, own_picks, reasons } => {
                let terms = Terms { picks: proposer_picks, reasons };
                self.accepted(now, round, is_ready, terms, &own_picks);
            }
            UpgradeStep::Decline { next, text } => self.declined(now, round, next, text),
            UpgradeStep::Abort => {
                if matches!(self.phase, Phase::Staging { round: staged, .. } if staged == round) {
                    self.acts.push_back(Act::Discard);
                    self.rest(now);
                }
            }
            UpgradeStep::Begin { sent } => self.peer_begins(now, round, sent),
            UpgradeStep::BeginSeen => {
                if let Phase::Switching { round: current, is_seen, sent: Some(_), .. } = &mut self.phase
                    && *current == round
                {
                    *is_seen = true;
                    self.repeat = None;
                    self.finish(now);
                }
            }
        }
    }

    fn proposed(&mut self, now: Instant, round: u64, offer: &Offer) {
        match &self.phase {
            // What was said before was lost.
            Phase::Staging { round: staged, accept, .. } if *staged == round => {
                let accept = accept.clone();
                return self.say(round, accept);
            }
            // The proposer has given up the attempt before.
            Phase::Staging { round: staged, .. } if *staged < round => {
                self.acts.push_back(Act::Discard);
                self.phase = Phase::Idle;
            }
            // Both propose: the server goes first, and the client after that.
            Phase::Proposing { round: own, wish, .. } if self.role == Role::Client && *own <= round => {
                self.wish = Some(wish.clone());
                self.acts.push_back(Act::Discard);
                self.phase = Phase::Idle;
                self.highest = round - 1;
            }
            Phase::Proposing { .. } if self.role == Role::Client => {}
            Phase::Idle => {}
            // Repeated until this end is ready for it.
            _ => return,
        }
        if round <= self.highest {
            if round > self.in_force {
                let next = self.highest + 1;
                self.say(round, UpgradeStep::Decline { next, text: "the number is used".into() });
            }
            return self.propose(now);
        }
        self.repeat = None;
        self.highest = round;
        let found = match offer.nodes() {
            Some(wished) => find_wished(&wished, &self.nodes, self.requirements).map_err(|it| it.reason),
            None => Err("the proposal contradicts itself".into()),
        };
        match found {
            Ok(found) => {
                let (picks, reasons) = (found.server_picks, wire::cut(found.reasons.join("; ")));
                let terms = Terms { picks: picks.clone(), reasons: reasons.clone() };
                let said = said(round, offer, [&found.client_picks, &picks]);
                let accept = UpgradeStep::Accept {
                    is_ready: false,
                    proposer_picks: found.client_picks,
                    own_picks: picks.clone(),
                    reasons,
                };
                self.acts.push_back(Act::Stage { round });
                self.acts.push_back(Act::Build { picks, said });
                self.say(round, accept.clone());
                self.phase = Phase::Staging { round, accept, terms, is_built: false };
            }
            Err(text) => {
                self.say(round, UpgradeStep::Decline { next: 0, text: wire::cut(text) });
                self.propose(now);
            }
        }
    }

    fn accepted(&mut self, now: Instant, of: u64, ready: bool, terms: Terms, theirs: &[u8]) {
        match &mut self.phase {
            Phase::Proposing { round, wish, offer, accepted, is_ready, .. } if *round == of => {
                *is_ready |= ready;
                if accepted.is_none() {
                    let choices = self.nodes.iter().map(Node::selects).sum::<usize>();
                    let is_met = terms.picks.len() == choices && wish.pick.is_met(&self.nodes, &terms.picks);
                    if !is_met {
                        let text =
                            format!("no stack with these alternatives suits both ends: {}", terms.reasons);
                        return self.abort(now, error(ErrorKind::Refused, text));
                    }
                    if let Err(below) = check_picks(&self.nodes, &terms.picks, self.requirements) {
                        return self.abort(now, below);
                    }
                    let (picks, said) = (terms.picks.clone(), said(of, offer, [&terms.picks, theirs]));
                    self.acts.push_back(Act::Build { picks, said });
                    *accepted = Some(terms);
                }
                self.commit(now);
            }
            Phase::Switching { round, .. } if *round == of => {}
            // The other end waits for an attempt that was given up.
            _ if of != self.in_force => self.say(of, UpgradeStep::Abort),
            _ => {}
        }
    }

    fn declined(&mut self, now: Instant, of: u64, next: u64, text: String) {
        let Phase::Proposing { round, wish, offer, .. } = &self.phase else { return };
        if *round != of {
            return;
        }
        if next > self.highest {
            let (wish, offer) = (wish.clone(), offer.clone());
            self.acts.push_back(Act::Discard);
            return self.propose_as(now, next, wish, offer);
        }
        self.acts.push_back(Act::Discard);
        self.acts.push_back(Act::Report(Err(error(ErrorKind::Refused, text))));
        self.rest(now);
    }

    /// The stack of the attempt is built, or can't be.
    pub(crate) fn built(&mut self, now: Instant, result: Result<(), Error>) {
        match (&mut self.phase, result) {
            (Phase::Proposing { is_built, .. }, Ok(())) => {
                *is_built = true;
                self.commit(now);
            }
            (Phase::Proposing { .. }, Err(failure)) => self.abort(now, failure),
            (Phase::Staging { round, accept, is_built, .. }, Ok(())) => {
                *is_built = true;
                if let UpgradeStep::Accept { is_ready, .. } = accept {
                    *is_ready = true;
                }
                let (round, accept) = (*round, accept.clone());
                self.say(round, accept);
                self.repeat_from(now);
            }
            (Phase::Staging { round, .. }, Err(failure)) => {
                let (round, text) = (*round, wire::cut(failure.to_string()));
                self.say(round, UpgradeStep::Decline { next: 0, text });
                self.acts.push_back(Act::Discard);
                self.rest(now);
            }
            _ => {}
        }
    }

    /// Both stacks are there: the proposer ends the old round.
    fn commit(&mut self, _: Instant) {
        let Phase::Proposing { round, wish, accepted: Some(terms), is_built: true, is_ready: true, .. } =
            &self.phase
        else {
            return;
        };
        self.phase = Phase::switching(*round, Some(wish.clone()), terms.clone());
        self.repeat = None;
        self.acts.push_back(Act::EndSending { may_fail: true });
    }

    /// Sending in the old round has ended, after so many messages; or it could not be ended.
    pub(crate) fn sent(&mut self, now: Instant, result: Result<u64, Error>) {
        let Phase::Switching { round, wish, terms, sent, .. } = &mut self.phase else { return };
        match result {
            Ok(count) => {
                *sent = Some(count);
                let (round, terms, is_wish) = (*round, terms.clone(), wish.take().is_some());
                self.in_force = round;
                self.picks = terms.picks.clone();
                self.say(round, UpgradeStep::Begin { sent: count });
                self.repeat_from(now);
                self.acts.push_back(Act::Begin { round, terms });
                if is_wish {
                    self.acts.push_back(Act::Report(Ok(())));
                }
                self.finish(now);
            }
            Err(failure) => self.abort(now, failure),
        }
    }

    fn peer_begins(&mut self, now: Instant, of: u64, count: u64) {
        if let Phase::Staging { round, terms, is_built: true, .. } = &self.phase
            && *round == of
        {
            self.phase = Phase::switching(of, None, terms.clone());
            self.repeat = None;
            self.acts.push_back(Act::EndSending { may_fail: false });
        }
        match &mut self.phase {
            // Who proposed has begun itself before the other end does.
            Phase::Switching { round, has_peer_begun, wish: None, .. } if *round == of => {
                if !*has_peer_begun {
                    *has_peer_begun = true;
                    self.acts.push_back(Act::EndReceiving { sent: count });
                }
            }
            _ if of == self.in_force => {}
            _ => return,
        }
        self.say(of, UpgradeStep::BeginSeen);
        self.finish(now);
    }

    /// All of the old round was received.
    pub(crate) fn received(&mut self, now: Instant) {
        if let Phase::Switching { has_received, .. } = &mut self.phase {
            *has_received = true;
        }
        self.finish(now);
    }

    fn finish(&mut self, now: Instant) {
        let Phase::Switching { sent, is_seen, has_received, is_retired, .. } = &mut self.phase else {
            return;
        };
        if sent.is_some() && *has_received && !*is_retired {
            *is_retired = true;
            self.acts.push_back(Act::Retire);
        }
        if *is_seen && *is_retired {
            self.rest(now);
        }
    }
}

impl Phase {
    fn switching(round: u64, wish: Option<Wish>, terms: Terms) -> Self {
        Self::Switching {
            round,
            wish,
            terms,
            sent: None,
            is_seen: false,
            has_peer_begun: false,
            has_received: false,
            is_retired: false,
        }
    }
}

/// What both ends know of the attempt once the one that did not propose has found a stack. Not the reasons, which are
/// for people.
fn said(round: u64, offer: &Offer, [proposer_picks, other_picks]: [&[u8]; 2]) -> [u8; 32] {
    // Fails for nothing that was decoded, or encoded to be sent.
    let offer = postcard::to_allocvec(offer).unwrap_or_default();
    hash("bertha 2 said", &[&round.to_le_bytes(), &offer, proposer_picks, other_picks])
}

fn error(kind: ErrorKind, what: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(kind, what).at("negotiation")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests;
