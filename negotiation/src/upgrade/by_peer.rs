//! How two ends agree on a change of stacks, without I/O: either proposes, and the other one agrees or not.
//!
//! ```text
//! proposer                                other end
//!   | Propose  ---------------------------->  | finds a stack
//!   | builds its stack  <--------  Accept     | builds its stack
//!   |                   <-- Accept, ready     |
//!   | stops sending in the old epoch, drains  |
//!   | Begin    ---------------------------->  | stops sending in the old epoch, drains
//!   | sends in the new epoch  <----  Begin    | sends in the new epoch
//! ```
//!
//! Until its `Begin` is sent the proposer can give up, and nothing has changed; from then on both ends change. The other
//! end is bound once it was ready, and its old stack works on meanwhile. Each attempt has a number of its own, higher than
//! all that its proposer has seen, so late messages of an earlier attempt are recognised. It is the number of the epoch if the
//! attempt succeeds.

mod answering;
mod proposing;

use super::handover::Handover;
use super::pick::Pick;
use super::vain_proposals::VainProposals;
use crate::auth::hash;
use crate::handshake::{Choices, Requirements, check_picks};
use crate::wire::{self, Offer, Upgrade, UpgradeStep};
use bertha_core::guarantee::Set;
use bertha_core::{DifferingCapability, Error, ErrorKind, Node, Role};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The longest pause between repetitions.
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// How far the number of an attempt may be above all that were seen.
const MAX_JUMP: u64 = 1 << 32;

/// The constants of a connection whose stack may change.
#[derive(Debug)]
pub(crate) struct Terms {
    /// The connection id.
    pub(crate) id: u64,
    pub(crate) role: Role,
    /// This end's stack with all alternatives.
    pub(crate) nodes: Vec<Node>,
    /// The guarantees that a stack has to give, and those of the transport.
    pub(crate) requirements: Requirements,
    /// The guarantees of the stack in use that a change may lose.
    pub(crate) may_lose: Set,
    /// How long a proposal may take.
    pub(crate) proposal_timeout: Duration,
    /// When it is first repeated.
    pub(crate) repeat_after: Duration,
}

/// One end's part in agreeing with the peer.
#[derive(Debug)]
pub(crate) struct PeerAgreement {
    terms: Terms,
    /// This end's picks in force.
    picks: Vec<u8>,
    in_force: u64,
    /// The highest number seen.
    highest: u64,
    phase: Phase,
    handover: Handover<u64>,
    request: Option<Request>,
    repetition: Option<Repetition>,
    /// The peer's proposals for which this end staged a stack in vain.
    vain: VainProposals,
    outbound: VecDeque<Upgrade>,
    reports: VecDeque<Result<(), Error>>,
}

/// A request of the application, and when it is given up.
#[derive(Debug, Clone)]
struct Request {
    pick: Pick,
    until: Instant,
}

/// The stack that this end proposes.
#[derive(Debug, Clone)]
struct Proposal {
    offer: Offer,
    /// The choices of the whole stack that the offer leaves to the other end.
    choices: Choices,
    /// The guarantees that the stack has to give.
    requirements: Requirements,
}

/// When the last message is repeated, and the pause after that.
#[derive(Debug, Clone, Copy)]
struct Repetition {
    at: Instant,
    pause: Duration,
}

/// The result of an attempt at agreement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Agreed {
    /// The branch of each of this end's choices.
    pub(crate) picks: Vec<u8>,
    /// The peer's capabilities that are not the same as this end's.
    pub(crate) peer: Vec<DifferingCapability>,
    /// Why alternatives were passed over, for people.
    reasons: String,
    /// A hash of the messages that agreed on it, the same on both ends.
    pub(crate) said: [u8; 32],
}

#[derive(Debug)]
enum Phase {
    Idle,
    /// This end has proposed.
    Proposing {
        epoch: u64,
        request: Request,
        proposal: Proposal,
        agreed: Option<Agreed>,
        is_ready: bool,
    },
    /// The peer has proposed.
    Staging {
        epoch: u64,
        accept: UpgradeStep,
        agreed: Agreed,
    },
    /// Both change.
    Switching {
        epoch: u64,
        /// This end's own, until it is granted.
        request: Option<Request>,
        agreed: Agreed,
        /// The number of messages that this end has sent in the old epoch, once that is known.
        sent: Option<u64>,
        /// The same of the peer.
        peer_sent: Option<u64>,
        /// Whether the peer has seen that this end has begun.
        is_seen: bool,
    },
}

impl PeerAgreement {
    /// Of a connection that begins with `picks`.
    pub(crate) fn new(terms: Terms, picks: Vec<u8>) -> Self {
        Self {
            terms,
            picks,
            in_force: 0,
            highest: 0,
            phase: Phase::Idle,
            handover: Handover::new(0),
            request: None,
            repetition: None,
            vain: VainProposals::default(),
            outbound: VecDeque::new(),
            reports: VecDeque::new(),
        }
    }

    /// The machine that carries changes out.
    pub(crate) fn handover(&mut self) -> &mut Handover<u64> {
        &mut self.handover
    }

    /// Whether no change is under way.
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Idle)
            && self.request.is_none()
            && self.handover.is_steady()
            && self.reports.is_empty()
    }

    /// Whether a request is neither granted nor refused yet; then there may be no other.
    pub(crate) fn has_request(&self) -> bool {
        self.request.is_some()
            || matches!(self.phase, Phase::Proposing { .. } | Phase::Switching { request: Some(_), .. })
    }

    /// The result of the attempt under way.
    pub(crate) fn agreed(&self) -> Option<&Agreed> {
        match &self.phase {
            Phase::Proposing { agreed, .. } => agreed.as_ref(),
            Phase::Staging { agreed, .. } | Phase::Switching { agreed, .. } => Some(agreed),
            Phase::Idle => None,
        }
    }

    /// The number of messages that the peer's application has sent in the old epoch, once the peer has said so.
    pub(crate) fn peer_sent(&self) -> Option<u64> {
        match &self.phase {
            Phase::Switching { peer_sent, .. } => *peer_sent,
            _ => None,
        }
    }

    /// The answer to a request.
    pub(crate) fn poll_report(&mut self) -> Option<Result<(), Error>> {
        self.reports.pop_front()
    }

    /// When to call [`poll_transmit`](Self::poll_transmit) next, if nothing else happens.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let until = match &self.phase {
            Phase::Proposing { request, .. } => Some(request.until),
            _ => self.request.as_ref().map(|request| request.until),
        };
        let repetition = self.repetition.map(|repetition| repetition.at);
        until.into_iter().chain(repetition).min()
    }

    /// The next message to the peer, which goes out before the next step is carried out.
    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<Upgrade> {
        self.give_up_late_requests(now);
        if let Some(Repetition { at, pause }) = self.repetition
            && now >= at
        {
            self.repetition = None;
            let again = match &self.phase {
                Phase::Proposing { epoch, proposal, .. } => {
                    Some((*epoch, UpgradeStep::Propose { offer: proposal.offer.clone() }))
                }
                Phase::Staging { epoch, accept, .. } if self.handover.is_built() => {
                    Some((*epoch, accept.clone()))
                }
                Phase::Switching { epoch, sent: Some(sent), is_seen: false, .. } => {
                    Some((*epoch, UpgradeStep::Begin { sent: *sent }))
                }
                _ => None,
            };
            if let Some((epoch, step)) = again {
                self.send(epoch, step);
                self.repetition = Some(Repetition { at: now + pause, pause: (pause * 2).min(MAX_PAUSE) });
            }
        }
        self.outbound.pop_front()
    }

    fn give_up_late_requests(&mut self, now: Instant) {
        if self.request.as_ref().is_some_and(|request| now >= request.until) {
            self.request = None;
            let what = "another change of the stack took the whole time";
            self.reports.push_back(Err(error(ErrorKind::TimedOut, what)));
        }
        if matches!(&self.phase, Phase::Proposing { request, .. } if now >= request.until) {
            let what = "the other end did not agree to another stack in time; it may not be receiving, or its answer was not received, since a `recv` here is kept and not polled";
            self.abort(now, error(ErrorKind::TimedOut, what));
        }
    }

    fn send(&mut self, epoch: u64, step: UpgradeStep) {
        self.outbound.push_back(Upgrade { id: self.terms.id, round: epoch, step });
    }

    fn repeat_from(&mut self, now: Instant) {
        let pause = self.terms.repeat_after;
        self.repetition = Some(Repetition { at: now + pause, pause: pause * 2 });
    }

    /// Whether a number is so far ahead that no honest peer has come to it. One that the peer takes all the same would leave
    /// few others, or none.
    fn is_far(&self, number: u64) -> bool {
        number > self.highest.saturating_add(MAX_JUMP)
    }

    /// Gives up what this end has proposed.
    fn abort(&mut self, now: Instant, because: Error) {
        if let Phase::Proposing { epoch, .. } | Phase::Switching { epoch, .. } = self.phase {
            self.send(epoch, UpgradeStep::Abort);
            self.handover.discard();
            self.reports.push_back(Err(because));
            self.rest(now);
        }
    }

    /// Nothing is under way any more; goes on with what waits.
    fn rest(&mut self, now: Instant) {
        self.phase = Phase::Idle;
        self.repetition = None;
        self.propose(now);
    }

    /// A message of the peer.
    pub(crate) fn on_message(&mut self, now: Instant, Upgrade { round: epoch, step, .. }: Upgrade) {
        match step {
            UpgradeStep::Propose { offer } => self.on_propose(now, epoch, &offer),
            UpgradeStep::Accept { is_ready, proposer_picks, own_picks, reasons, capabilities } => {
                let agreed = Agreed { picks: proposer_picks, peer: capabilities, reasons, said: [0; 32] };
                self.on_accept(now, epoch, is_ready, agreed, &own_picks);
            }
            UpgradeStep::Decline { next, text } => self.on_decline(now, epoch, next, text),
            UpgradeStep::Abort => {
                if matches!(self.phase, Phase::Staging { epoch: staged, .. } if staged == epoch) {
                    self.unstage(now);
                    self.rest(now);
                }
            }
            UpgradeStep::Begin { sent } => self.on_begin(now, epoch, sent),
            UpgradeStep::BeginSeen => {
                if let Phase::Switching { epoch: current, is_seen, sent: Some(_), .. } = &mut self.phase
                    && *current == epoch
                {
                    *is_seen = true;
                    self.repetition = None;
                    self.finish(now);
                }
            }
        }
    }

    /// Drops the stack that the peer wanted.
    fn unstage(&mut self, now: Instant) {
        self.handover.discard();
        self.phase = Phase::Idle;
        self.vain.add(now);
    }

    fn on_accept(&mut self, now: Instant, of: u64, ready: bool, accepted: Agreed, peer_picks: &[u8]) {
        match &mut self.phase {
            Phase::Proposing { epoch, request, proposal, agreed, is_ready } if *epoch == of => {
                *is_ready |= ready;
                if agreed.is_none() {
                    let nodes = &self.terms.nodes;
                    let Proposal { offer, choices, requirements } = proposal;
                    let picks = choices.expand(&accepted.picks);
                    if accepted.picks.len() != choices.left() || !request.pick.is_met(nodes, &picks) {
                        let reasons = &accepted.reasons;
                        let text = format!("no stack with these alternatives suits both ends: {reasons}");
                        return self.abort(now, error(ErrorKind::Refused, text));
                    }
                    if let Err(below) = check_picks(nodes, &picks, *requirements) {
                        return self.abort(now, below);
                    }
                    let said = said(of, offer, [&accepted.picks, peer_picks], &accepted.peer);
                    *agreed = Some(Agreed { picks, said, ..accepted });
                    self.handover.build();
                }
                self.switch_if_ready();
            }
            Phase::Switching { epoch, .. } if *epoch == of => {}
            // The other end waits for an attempt that was given up.
            _ if of != self.in_force => self.send(of, UpgradeStep::Abort),
            _ => {}
        }
    }

    fn on_decline(&mut self, now: Instant, of: u64, next: u64, text: String) {
        let Phase::Proposing { epoch, request, proposal, .. } = &self.phase else { return };
        if *epoch != of {
            return;
        }
        if next > self.highest && !self.is_far(next) {
            let (request, proposal) = (request.clone(), proposal.clone());
            return self.propose_as(now, next, request, proposal);
        }
        self.handover.discard();
        self.reports.push_back(Err(error(ErrorKind::Refused, text)));
        self.rest(now);
    }

    /// The staged stack is built, or can't be.
    pub(crate) fn on_built(&mut self, now: Instant, result: Result<(), Error>) {
        match (&mut self.phase, result) {
            (Phase::Proposing { .. }, Ok(())) => {
                self.handover.built();
                self.switch_if_ready();
            }
            (Phase::Proposing { .. }, Err(failure)) => self.abort(now, failure),
            (Phase::Staging { epoch, accept, .. }, Ok(())) => {
                if let UpgradeStep::Accept { is_ready, .. } = accept {
                    *is_ready = true;
                }
                let (epoch, accept) = (*epoch, accept.clone());
                self.handover.built();
                self.send(epoch, accept);
                self.repeat_from(now);
            }
            (Phase::Staging { epoch, .. }, Err(failure)) => {
                let (epoch, text) = (*epoch, wire::cut(failure.to_string()));
                self.send(epoch, UpgradeStep::Decline { next: 0, text });
                self.unstage(now);
                self.rest(now);
            }
            _ => {}
        }
    }

    /// Ends the old epoch, as the proposer does once both stacks are there.
    fn switch_if_ready(&mut self) {
        let Phase::Proposing { epoch, request, agreed: Some(agreed), is_ready: true, .. } = &self.phase
        else {
            return;
        };
        if self.handover.is_built() {
            self.phase = Phase::switching(*epoch, Some(request.clone()), agreed.clone());
            self.repetition = None;
            self.handover.switch(true);
        }
    }

    /// Sending in the old epoch has ended after so many messages, or could not be ended.
    pub(crate) fn on_sends_ended(&mut self, now: Instant, result: Result<u64, Error>) {
        let Phase::Switching { epoch, request, agreed, sent, .. } = &mut self.phase else { return };
        match result {
            Ok(count) => {
                *sent = Some(count);
                let (epoch, is_requested) = (*epoch, request.take().is_some());
                self.in_force = epoch;
                self.picks = agreed.picks.clone();
                self.send(epoch, UpgradeStep::Begin { sent: count });
                self.repeat_from(now);
                self.handover.sends_ended();
                if is_requested {
                    self.reports.push_back(Ok(()));
                }
            }
            Err(failure) => self.abort(now, failure),
        }
    }

    fn on_begin(&mut self, now: Instant, of: u64, count: u64) {
        if let Phase::Staging { epoch, agreed, .. } = &self.phase
            && *epoch == of
            && self.handover.is_built()
        {
            self.phase = Phase::switching(of, None, agreed.clone());
            self.repetition = None;
            self.handover.switch(false);
        }
        match &mut self.phase {
            // A proposer begins before the other end does.
            Phase::Switching { epoch, peer_sent, request: None, .. } if *epoch == of => {
                if peer_sent.is_none() {
                    *peer_sent = Some(count);
                    self.handover.await_rest();
                }
            }
            _ if of == self.in_force => {}
            _ => return,
        }
        self.send(of, UpgradeStep::BeginSeen);
        self.finish(now);
    }

    /// No receiver is in the old stack any more.
    pub(crate) fn on_receivers_left(&mut self, now: Instant) {
        self.handover.receivers_left();
        self.finish(now);
    }

    /// Comes to rest once the old epoch is over at both ends, as far as this one has to know.
    fn finish(&mut self, now: Instant) {
        if let Phase::Switching { epoch, is_seen: true, .. } = self.phase
            && self.handover.current() == epoch
        {
            self.rest(now);
        }
    }
}

impl Phase {
    fn switching(epoch: u64, request: Option<Request>, agreed: Agreed) -> Self {
        Self::Switching { epoch, request, agreed, sent: None, peer_sent: None, is_seen: false }
    }
}

/// A hash of all that both ends know of the attempt once the one that did not propose has found a stack. Without the reasons, which
/// are for people.
fn said(
    epoch: u64,
    offer: &Offer,
    [proposer_picks, other_picks]: [&[u8]; 2],
    capabilities: &[DifferingCapability],
) -> [u8; 32] {
    // Fails for nothing that was decoded, or encoded to be sent.
    let offer = postcard::to_allocvec(offer).unwrap_or_default();
    let (epoch, differing) = (epoch.to_le_bytes(), postcard::to_allocvec(capabilities).unwrap_or_default());
    let mut parts = vec![&epoch[..], &offer, proposer_picks, other_picks];
    if !capabilities.is_empty() {
        parts.push(&differing);
    }
    hash("bertha 3 said", &parts)
}

fn error(kind: ErrorKind, what: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(kind, what).at("negotiation")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests;
