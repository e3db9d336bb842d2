//! The agreement of two ends on a change of stacks, without I/O: one end proposes, and the other end accepts
//! or declines.
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
//! Until its `Begin` is sent, the proposer can give up, and nothing has changed; from then on both ends
//! change. The other end is bound once it was ready, and its old stack works on in the meantime. Each attempt
//! has a number, which is higher than all numbers that its proposer has seen, so that late messages of an
//! earlier attempt are recognised. The number is the number of the epoch if the attempt succeeds.

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

/// Maximum distance of the number of an attempt above the highest number that was seen.
const MAX_JUMP: u64 = 1 << 32;

/// The constants of a connection whose stack may change.
#[derive(Debug)]
pub(crate) struct ChangeTerms {
    /// The connection id.
    pub(crate) id: u64,
    pub(crate) role: Role,
    /// This end's stack with all alternatives.
    pub(crate) nodes: Vec<Node>,
    /// The guarantees that a stack has to give, and the guarantees of the transport.
    pub(crate) requirements: Requirements,
    /// The guarantees of the stack in use that a change may lose.
    pub(crate) may_lose: Set,
    /// Time limit of a proposal.
    pub(crate) proposal_timeout: Duration,
    /// Time after which a proposal is first repeated.
    pub(crate) repeat_after: Duration,
}

/// An end's state in the agreement with its peer.
#[derive(Debug)]
pub(crate) struct PeerAgreement {
    terms: ChangeTerms,
    /// This end's current picks.
    picks: Vec<u8>,
    /// The current epoch.
    active: u64,
    /// The highest number seen.
    highest: u64,
    phase: Phase,
    handover: Handover<u64>,
    request: Option<UpgradeRequest>,
    repetition: Option<Repetition>,
    /// The peer's failed proposals for which this end staged a stack.
    vain: VainProposals,
    outbound: VecDeque<Upgrade>,
    reports: VecDeque<Result<(), Error>>,
}

/// A request of the application, and the time at which it is given up.
#[derive(Debug, Clone)]
struct UpgradeRequest {
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

/// The time at which the last message is repeated, and the pause after that.
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
    /// The peer's capabilities that differ from this end's.
    pub(crate) peer: Vec<DifferingCapability>,
    /// The reasons why alternatives were passed over, for a human reader.
    reasons: String,
    /// A hash of the messages that agreed on it, equal on both ends.
    pub(crate) transcript: [u8; 32],
}

#[derive(Debug)]
enum Phase {
    Idle,
    /// This end has proposed.
    Proposing {
        epoch: u64,
        request: UpgradeRequest,
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
    /// Both ends change.
    Switching {
        epoch: u64,
        /// The request of this end, until it is granted.
        request: Option<UpgradeRequest>,
        agreed: Agreed,
        /// Number of messages that this end has sent in the old epoch, once it is known.
        sent: Option<u64>,
        /// Number of messages that the peer has sent in the old epoch, once it is known.
        peer_sent: Option<u64>,
        /// True if the peer has seen that this end has begun.
        is_seen: bool,
    },
}

impl PeerAgreement {
    /// Makes the agreement of a connection that begins with `picks`.
    pub(crate) fn new(terms: ChangeTerms, picks: Vec<u8>) -> Self {
        Self {
            terms,
            picks,
            active: 0,
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

    /// Returns the machine that carries changes out.
    pub(crate) fn handover(&mut self) -> &mut Handover<u64> {
        &mut self.handover
    }

    /// Returns true if no change is under way.
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Idle)
            && self.request.is_none()
            && self.handover.is_steady()
            && self.reports.is_empty()
    }

    /// Returns true while a request is neither granted nor refused; no other request may be made then.
    pub(crate) fn has_request(&self) -> bool {
        self.request.is_some()
            || matches!(self.phase, Phase::Proposing { .. } | Phase::Switching { request: Some(_), .. })
    }

    /// Returns the result of the attempt under way.
    pub(crate) fn agreed(&self) -> Option<&Agreed> {
        match &self.phase {
            Phase::Proposing { agreed, .. } => agreed.as_ref(),
            Phase::Staging { agreed, .. } | Phase::Switching { agreed, .. } => Some(agreed),
            Phase::Idle => None,
        }
    }

    /// Returns the number of messages that the peer's application has sent in the old epoch, once the peer
    /// has reported it.
    pub(crate) fn peer_sent(&self) -> Option<u64> {
        match &self.phase {
            Phase::Switching { peer_sent, .. } => *peer_sent,
            _ => None,
        }
    }

    /// Returns the answer to a request.
    pub(crate) fn poll_report(&mut self) -> Option<Result<(), Error>> {
        self.reports.pop_front()
    }

    /// Returns the time for the next call of [`poll_transmit`](Self::poll_transmit), if no event comes
    /// before.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let until = match &self.phase {
            Phase::Proposing { request, .. } => Some(request.until),
            _ => self.request.as_ref().map(|request| request.until),
        };
        let repetition = self.repetition.map(|repetition| repetition.at);
        until.into_iter().chain(repetition).min()
    }

    /// Returns the next message to the peer, which has to be sent before the next step is carried out.
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

    /// Returns true if a number is more than [`MAX_JUMP`] above the highest number that was seen. An honest
    /// peer never reaches such a number, and accepting it would let a peer use up the number space.
    fn is_far(&self, number: u64) -> bool {
        number > self.highest.saturating_add(MAX_JUMP)
    }

    /// Gives up this end's proposal.
    fn abort(&mut self, now: Instant, because: Error) {
        if let Phase::Proposing { epoch, .. } | Phase::Switching { epoch, .. } = self.phase {
            self.send(epoch, UpgradeStep::Abort);
            self.handover.discard();
            self.reports.push_back(Err(because));
            self.rest(now);
        }
    }

    /// Handles that no change is under way any more, and begins the next waiting change.
    fn rest(&mut self, now: Instant) {
        self.phase = Phase::Idle;
        self.repetition = None;
        self.propose(now);
    }

    /// Handles a message of the peer.
    pub(crate) fn on_message(&mut self, now: Instant, Upgrade { round: epoch, step, .. }: Upgrade) {
        match step {
            UpgradeStep::Propose { offer } => self.on_propose(now, epoch, &offer),
            UpgradeStep::Accept { is_ready, proposer_picks, own_picks, reasons, capabilities } => {
                let agreed =
                    Agreed { picks: proposer_picks, peer: capabilities, reasons, transcript: [0; 32] };
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

    /// Drops the stack that the peer proposed.
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
                    let transcript = transcript(of, offer, [&accepted.picks, peer_picks], &accepted.peer);
                    *agreed = Some(Agreed { picks, transcript, ..accepted });
                    self.handover.build();
                }
                self.switch_if_ready();
            }
            Phase::Switching { epoch, .. } if *epoch == of => {}
            // The other end waits for an attempt that was given up.
            _ if of != self.active => self.send(of, UpgradeStep::Abort),
            _ => {}
        }
    }

    fn on_decline(&mut self, now: Instant, of: u64, next: u64, text: String) {
        let Phase::Proposing { epoch, request, proposal, .. } = &self.phase else { return };
        if *epoch != of {
            return;
        }
        if next > self.highest && !self.is_far(next) {
            let request = request.clone();
            let proposal = proposal.clone();
            return self.propose_as(now, next, request, proposal);
        }
        self.handover.discard();
        self.reports.push_back(Err(error(ErrorKind::Refused, text)));
        self.rest(now);
    }

    /// Handles that the staged stack is built, or can't be built.
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
                let epoch = *epoch;
                let accept = accept.clone();
                self.handover.built();
                // The peer may begin once it knows that this end is ready.
                self.handover.expect();
                self.send(epoch, accept);
                self.repeat_from(now);
            }
            (Phase::Staging { epoch, .. }, Err(failure)) => {
                let epoch = *epoch;
                let text = wire::cut(failure.to_string());
                self.send(epoch, UpgradeStep::Decline { next: 0, text });
                self.unstage(now);
                self.rest(now);
            }
            _ => {}
        }
    }

    /// Decides the change, and so ends the old epoch, if this end is the proposer and both stacks are built.
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

    /// Handles that sending in the old epoch has ended after this number of messages, or could not be ended.
    pub(crate) fn on_sends_ended(&mut self, now: Instant, result: Result<u64, Error>) {
        let Phase::Switching { epoch, request, agreed, sent, .. } = &mut self.phase else { return };
        match result {
            Ok(count) => {
                *sent = Some(count);
                let epoch = *epoch;
                let is_requested = request.take().is_some();
                self.active = epoch;
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
            // A proposer begins before its peer does.
            Phase::Switching { epoch, peer_sent, request: None, .. } if *epoch == of => {
                if peer_sent.is_none() {
                    *peer_sent = Some(count);
                    self.handover.await_rest();
                }
            }
            _ if of == self.active => {}
            _ => return,
        }
        self.send(of, UpgradeStep::BeginSeen);
        self.finish(now);
    }

    /// Handles that no receiver is in the old stack any more.
    pub(crate) fn on_receivers_left(&mut self, now: Instant) {
        self.handover.receivers_left();
        self.finish(now);
    }

    /// Ends the change once the old epoch is over at both ends, as far as this end has to know.
    fn finish(&mut self, now: Instant) {
        if let Phase::Switching { epoch, is_seen: true, .. } = self.phase
            && self.handover.current() == epoch
        {
            self.rest(now);
        }
    }
}

impl Phase {
    fn switching(epoch: u64, request: Option<UpgradeRequest>, agreed: Agreed) -> Self {
        Self::Switching { epoch, request, agreed, sent: None, peer_sent: None, is_seen: false }
    }
}

/// Computes a hash of the attempt, as both ends know it once the end that did not propose has found a stack.
/// The reasons, which are for a human reader, are left out.
fn transcript(
    epoch: u64,
    offer: &Offer,
    [proposer_picks, other_picks]: [&[u8]; 2],
    capabilities: &[DifferingCapability],
) -> [u8; 32] {
    // The encoding fails for no offer that was decoded, or encoded to be sent.
    let offer = postcard::to_allocvec(offer).unwrap_or_default();
    let epoch = epoch.to_le_bytes();
    let differing = postcard::to_allocvec(capabilities).unwrap_or_default();
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
