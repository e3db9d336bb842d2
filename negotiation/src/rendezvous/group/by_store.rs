//! The agreement of participants on a change of stacks, without I/O: the store says which round is staged and
//! which round is in force, and each participant carries the change out when its [handover](Handover) allows.
//!
//! The [member](crate::rendezvous::member) runs the protocol in the store; its events come in here. A round that is to be
//! staged is built, and then reported to the store as staged; once the store has it in force, the change is
//! decided. A participant that the store took for gone in the meantime may find a round in force that it has
//! not staged: it builds that round at once, and follows.

use super::round_id::RoundId;
use crate::handshake::Requirements;
use crate::rendezvous::member::{Event, InForce};
use crate::upgrade::{Handover, Pick};
use bertha_core::guarantee::Set;
use bertha_core::{Error, ErrorKind, Node, Situation, preferred};
use std::collections::VecDeque;

/// A participant's state in following the store.
#[derive(Debug)]
pub(super) struct StoreAgreement {
    /// This participant's stack with all alternatives.
    nodes: Vec<Node>,
    /// The guarantees of the transport.
    requirements: Requirements,
    /// The guarantees of the stack in use that a change may lose.
    may_lose: Set,
    /// The round in force, as far as this participant knows.
    active: InForce,
    handover: Handover<RoundId>,
    /// The plan to stage once no other change is under way.
    asked: Option<Plan>,
    /// The round in force, if it was never staged here.
    missed: Option<InForce>,
    /// The round that is staged, or that this participant changes to.
    plan: Option<Plan>,
    request: Option<StoreRequest>,
    orders: VecDeque<Order>,
    report: Option<Result<(), Error>>,
}

/// A round to come.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) id: RoundId,
    pub(super) picks: Vec<u8>,
    pub(super) leads: bool,
    /// True if the store asked to stage the round before it is in force.
    pub(super) is_staged: bool,
}

/// A request from the application.
#[derive(Debug)]
struct StoreRequest {
    pick: Pick,
    is_proposed: bool,
}

/// An order to the member, which writes to the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Order {
    /// This participant is ready for the round.
    Staged(u64),
    /// This participant can't run the round's stack, for this reason.
    Refuse(u64, String),
    /// The member is to propose these picks; the outcome goes to
    /// [`on_proposed`](StoreAgreement::on_proposed).
    Propose(Vec<u8>),
}

/// Returns the id of the round in force.
pub(super) fn round_of(active: &InForce) -> RoundId {
    RoundId { life: active.life, number: active.round }
}

impl StoreAgreement {
    /// Makes the agreement of a participant that has joined with the round in force.
    pub(super) fn new(nodes: Vec<Node>, requirements: Requirements, may_lose: Set, active: InForce) -> Self {
        Self {
            nodes,
            requirements,
            may_lose,
            handover: Handover::new(round_of(&active)),
            active,
            asked: None,
            missed: None,
            plan: None,
            request: None,
            orders: VecDeque::new(),
            report: None,
        }
    }

    /// Returns the machine that carries changes out.
    pub(super) fn handover(&mut self) -> &mut Handover<RoundId> {
        &mut self.handover
    }

    /// Returns true if a change is decided and not complete.
    pub(super) fn is_switching(&self) -> bool {
        self.handover.is_switching()
    }

    /// Returns true if this participant leads the round in force.
    pub(super) fn leads(&self) -> bool {
        self.active.leads()
    }

    /// Returns the round that is staged, or that this participant changes to.
    pub(super) fn plan(&self) -> Option<&Plan> {
        self.plan.as_ref()
    }

    /// Returns true while a request is neither granted nor refused; no other request may be made then.
    pub(super) fn has_request(&self) -> bool {
        self.request.is_some() || self.report.is_some()
    }

    /// Returns the next order to the member.
    pub(super) fn poll_order(&mut self) -> Option<Order> {
        self.orders.pop_front()
    }

    /// Returns the answer to the request.
    pub(super) fn poll_report(&mut self) -> Option<Result<(), Error>> {
        self.report.take()
    }

    /// Records that this participant can't change to this round, for this reason.
    pub(super) fn refuse(&mut self, round: u64, reason: &str) {
        self.orders.push_back(Order::Refuse(round, reason.into()));
    }

    /// Handles an event of the store.
    ///
    /// # Errors
    /// The reason why the participant is removed.
    pub(super) fn on_event(&mut self, event: Event) -> Result<(), Error> {
        match event {
            Event::Stage { round, picks, leads, .. } => {
                let id = RoundId { life: self.active.life, number: round };
                self.asked = Some(Plan { id, picks, leads, is_staged: true });
            }
            Event::Abandoned { round } => {
                self.asked.take_if(|asked| asked.id.number == round);
                let is_this = |plan: &Plan| plan.is_staged && plan.id.number == round;
                if !self.is_switching() && self.plan.as_ref().is_some_and(is_this) {
                    self.discard();
                }
            }
            Event::Commit(active) | Event::Joined(active) => self.on_in_force(active)?,
            // Any other refusal is the answer to a proposal of this participant's policies.
            Event::Refused { reason, .. } if self.request.as_ref().is_some_and(|it| it.is_proposed) => {
                self.finish_request(Err(Error::new(ErrorKind::Refused, reason)));
            }
            Event::Expired => {
                let what = "the store took this participant for gone; it joins again";
                self.finish_request(Err(Error::new(ErrorKind::TimedOut, what)));
            }
            Event::StoreLost { kind, reason } => {
                tracing::debug!(target: "bertha::negotiation", %reason, "the store is lost; the stack in use stays");
                self.finish_request(Err(Error::new(kind, reason)));
            }
            Event::Fault { reason } => {
                tracing::warn!(target: "bertha::negotiation", %reason, "a fault in the store was put right")
            }
            Event::Failed { kind, reason } => {
                return Err(Error::new(kind, reason).at("rendezvous").ending_connection());
            }
            Event::Refused { .. } | Event::Participants(_) | Event::StoreBack | Event::Left => {}
        }
        self.propose();
        self.advance();
        Ok(())
    }

    /// Returns the guarantees of the stack in use that the stack with these picks would lose, although this
    /// participant has to keep them.
    fn lost_by(&self, picks: &[u8]) -> Set {
        let asked = self.request.as_ref().filter(|request| request.pick.is_met(&self.nodes, picks));
        let may_lose = self.may_lose | asked.map_or(Set::NONE, |request| request.pick.may_lose());
        let keeping = self.requirements.keeping(&self.nodes, &self.active.picks, may_lose);
        keeping.missing(&self.nodes, picks)
    }

    fn on_in_force(&mut self, active: InForce) -> Result<(), Error> {
        let id = round_of(&active);
        if id == round_of(&self.active) {
            self.active = active;
            return Ok(());
        }
        let is_staged = self.handover.staged() == Some(id) && self.handover.is_built();
        if !is_staged {
            // The participant was never asked about this round.
            let lost = self.lost_by(&active.picks);
            if !lost.is_empty() {
                let what = format!("the others have changed to a stack that is not {lost}");
                return Err(Error::new(ErrorKind::Refused, what).at("rendezvous"));
            }
        }
        self.active = active.clone();
        match is_staged {
            true => self.handover.switch(false),
            false => self.missed = Some(active),
        }
        Ok(())
    }

    /// Begins the next waiting change, if no change is under way.
    fn advance(&mut self) {
        let is_building = self.handover.staged().is_some() && !self.handover.is_built();
        if self.is_switching() || is_building {
            return;
        }
        if let Some(missed) = self.missed.take() {
            self.discard();
            let id = round_of(&missed);
            if id != self.handover.current() {
                let leads = missed.leads();
                self.stage(Plan { id, picks: missed.picks, leads, is_staged: false });
            }
        } else if self.plan.is_none()
            && let Some(asked) = self.asked.take()
        {
            let lost = self.lost_by(&asked.picks);
            match lost.is_empty() {
                true => self.stage(asked),
                false => self.orders.push_back(Order::Refuse(
                    asked.id.number,
                    format!("the change would lose guarantees that this participant keeps: {lost}"),
                )),
            }
        }
    }

    fn stage(&mut self, plan: Plan) {
        self.handover.stage(plan.id);
        self.handover.build();
        self.plan = Some(plan);
    }

    /// Discards the staged round, which will not come into force.
    fn discard(&mut self) {
        self.handover.discard();
        self.plan = None;
    }

    /// Records that the staged stack is built, or can't be built.
    ///
    /// # Errors
    /// The reason why the participant is removed: it can't build the stack in force, and would only hold up
    /// the other participants.
    pub(super) fn on_built(&mut self, built: Result<(), Error>) -> Result<(), Error> {
        let Some(plan) = &self.plan else { return Ok(()) };
        let round = plan.id.number;
        let is_staged = plan.is_staged;
        match built {
            Ok(()) => {
                self.handover.built();
                match is_staged {
                    true => self.orders.push_back(Order::Staged(round)),
                    false => self.handover.switch(false),
                }
            }
            Err(error) if is_staged => {
                self.discard();
                self.orders.push_back(Order::Refuse(round, error.to_string()));
            }
            Err(error) => return Err(error),
        }
        self.advance();
        Ok(())
    }

    /// Records that sends in the old round have ended: the other participants may be told, and the agent
    /// waits for the rest of the round.
    pub(super) fn on_sends_ended(&mut self) {
        self.handover.sends_ended();
        self.handover.await_rest();
        let nodes = &self.nodes;
        let plan = self.plan.as_ref();
        let is_met =
            |request: &StoreRequest| plan.is_some_and(|plan| request.pick.is_met(nodes, &plan.picks));
        if self.request.as_ref().is_some_and(is_met) {
            self.finish_request(Ok(()));
        }
    }

    /// Records that no receiver is in the old stack any more.
    pub(super) fn on_receivers_left(&mut self) {
        self.handover.receivers_left();
        self.plan = None;
        self.advance();
    }

    /// Handles the application's request for other alternatives.
    pub(super) fn on_request(&mut self, pick: Pick) {
        self.request = Some(StoreRequest { pick, is_proposed: false });
        self.propose();
    }

    /// Proposes the requested alternatives, unless they were proposed already.
    fn propose(&mut self) {
        let Some(StoreRequest { pick, is_proposed: false }) = &self.request else { return };
        if self.orders.iter().any(|order| matches!(order, Order::Propose(_))) {
            return;
        }
        if pick.is_met(&self.nodes, &self.active.picks) {
            // The request is granted, or will be granted once this participant has changed to the round in
            // force.
            if self.handover.sends_in() == round_of(&self.active) {
                self.finish_request(Ok(()));
            }
            return;
        }
        // The requested alternatives are preferred among any number of participants.
        let picks = pick
            .preferred(&self.nodes, &self.active.picks)
            .map(|nodes| preferred(&nodes, &Situation::TWO_ENDS));
        match picks {
            Ok(picks) => {
                let lost = self.lost_by(&picks);
                if lost.is_empty() {
                    return self.orders.push_back(Order::Propose(picks));
                }
                let what = format!(
                    "the change would lose guarantees of the stack in use, {lost}; a pick lets go of it by `losing`"
                );
                self.finish_request(Err(Error::new(ErrorKind::Refused, what)));
            }
            Err(error) => self.finish_request(Err(error)),
        }
    }

    /// Records that the proposal was taken, or failed; `is_stale` if events that are still to come decide it.
    pub(super) fn on_proposed(&mut self, proposed: Result<(), Error>, is_stale: bool) {
        match (proposed, &mut self.request) {
            (Ok(()), Some(request)) => request.is_proposed = true,
            // A proposal of this participant's policies is under way. Once it is decided, the requested
            // alternatives can be proposed.
            (Err(error), _) if error.kind() == ErrorKind::Exhausted => {}
            (Err(error), _) if !is_stale => self.finish_request(Err(error)),
            _ => {}
        }
    }

    fn finish_request(&mut self, result: Result<(), Error>) {
        if self.request.take().is_some() {
            self.report = Some(result.map_err(|error| error.at("rendezvous")));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;
    use crate::rendezvous::member::Description;
    use bertha_core::guarantee::Encrypted;
    use bertha_core::{LayerInfo, Properties};

    fn nodes() -> Vec<Node> {
        let layer = |name, guarantees| vec![Node::Layer(LayerInfo::plain(name, 1).guaranteeing(guarantees))];
        let branches = [layer("test::Secret", Set::of::<Encrypted>()), layer("test::Plain", Set::NONE)];
        vec![Node::Select { branches, prefer: 0.into() }]
    }

    fn active(round: u64, pick: u8) -> InForce {
        let picks = vec![pick];
        let stack = Description::of(&nodes(), &[pick]).unwrap();
        InForce { life: 1, round, stack, picks, leader: 1, own_id: 2 }
    }

    /// A participant that the store took for gone may find another stack in force when it comes back,
    /// or a forged record of a weaker stack.
    #[test]
    fn who_joins_again_does_not_follow_into_a_stack_that_is_weaker() {
        for (may_lose, follows) in [(Set::NONE, false), (Set::ALL, true)] {
            let requirements = Requirements::new(Set::NONE, Properties::DATAGRAM);
            let mut agreement = StoreAgreement::new(nodes(), requirements, may_lose, active(1, 0));
            agreement.on_event(Event::Expired).unwrap();
            let joined = agreement.on_event(Event::Joined(active(2, 1)));
            assert_eq!(joined.is_ok(), follows);
            assert_eq!(agreement.handover().staged().is_some(), follows);
            if let Err(error) = joined {
                assert!(error.to_string().contains("not encrypted"), "{error}");
            }
        }
    }
}
