//! How participants agree on a change of stacks, without I/O: the store says which round is staged and which is in force, and each
//! participant carries that out when its [handover](Handover) allows.
//!
//! The protocol in the store is the [member](crate::member)'s; its events come in here. A round that is to be staged is built and
//! the store is told; once the store has it in force, the change is decided. A participant that was taken for gone meanwhile may find
//! a round in force that it has not staged: it builds that at once, and follows.

use super::round_id::RoundId;
use crate::member::{Event, InForce};
use bertha_core::guarantee::Set;
use bertha_core::{Error, ErrorKind, Node, Situation, preferred};
use bertha_negotiation::Pick;
use bertha_negotiation::handshake::Requirements;
use bertha_negotiation::internals::Handover;
use std::collections::VecDeque;

/// One participant's part in following the store.
#[derive(Debug)]
pub(super) struct StoreAgreement {
    /// This participant's stack with all alternatives.
    nodes: Vec<Node>,
    /// The guarantees of the transport.
    requirements: Requirements,
    /// The guarantees of the stack in use that a change may lose.
    may_lose: Set,
    /// The round in force, as far as this participant knows.
    in_force: InForce,
    handover: Handover<RoundId>,
    /// To be staged once nothing else is under way.
    asked: Option<Plan>,
    /// In force without having been staged here.
    missed: Option<InForce>,
    /// The round that is staged or changed to.
    plan: Option<Plan>,
    request: Option<Request>,
    orders: VecDeque<Order>,
    report: Option<Result<(), Error>>,
}

/// A round to come.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) id: RoundId,
    pub(super) picks: Vec<u8>,
    pub(super) leads: bool,
    /// Whether the store asked for it before it is in force.
    pub(super) is_staged: bool,
}

/// A request of the application.
#[derive(Debug)]
struct Request {
    pick: Pick,
    is_proposed: bool,
}

/// An order to the member, which tells the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Order {
    /// Ready for this round.
    Staged(u64),
    /// Can't run this round's stack, for this reason.
    Refuse(u64, String),
    /// Propose these picks; then report [`on_proposed`](StoreAgreement::on_proposed).
    Propose(Vec<u8>),
}

/// The round that this is.
pub(super) fn round_of(in_force: &InForce) -> RoundId {
    RoundId { life: in_force.life, number: in_force.round }
}

impl StoreAgreement {
    /// A participant that has joined with the round in force.
    pub(super) fn new(
        nodes: Vec<Node>,
        requirements: Requirements,
        may_lose: Set,
        in_force: InForce,
    ) -> Self {
        Self {
            nodes,
            requirements,
            may_lose,
            handover: Handover::new(round_of(&in_force)),
            in_force,
            asked: None,
            missed: None,
            plan: None,
            request: None,
            orders: VecDeque::new(),
            report: None,
        }
    }

    /// The machine that carries changes out.
    pub(super) fn handover(&mut self) -> &mut Handover<RoundId> {
        &mut self.handover
    }

    /// Whether a change is decided and not over.
    pub(super) fn is_switching(&self) -> bool {
        self.handover.is_switching()
    }

    /// Whether this participant leads the round in force.
    pub(super) fn leads(&self) -> bool {
        self.in_force.leads()
    }

    /// The round that is staged or changed to.
    pub(super) fn plan(&self) -> Option<&Plan> {
        self.plan.as_ref()
    }

    /// Whether a request is neither granted nor refused yet; then there may be no other.
    pub(super) fn has_request(&self) -> bool {
        self.request.is_some() || self.report.is_some()
    }

    /// The next order to the member.
    pub(super) fn poll_order(&mut self) -> Option<Order> {
        self.orders.pop_front()
    }

    /// The answer to the request.
    pub(super) fn poll_report(&mut self) -> Option<Result<(), Error>> {
        self.report.take()
    }

    /// This participant can't change to this round, for this reason.
    pub(super) fn refuse(&mut self, round: u64, reason: &str) {
        self.orders.push_back(Order::Refuse(round, reason.into()));
    }

    /// An event of the store.
    ///
    /// # Errors
    /// Why the participant is out.
    pub(super) fn on_event(&mut self, event: Event) -> Result<(), Error> {
        match event {
            Event::Stage { round, picks, leads, .. } => {
                let id = RoundId { life: self.in_force.life, number: round };
                self.asked = Some(Plan { id, picks, leads, is_staged: true });
            }
            Event::Abandoned { round } => {
                self.asked.take_if(|asked| asked.id.number == round);
                let is_this = |plan: &Plan| plan.is_staged && plan.id.number == round;
                if !self.is_switching() && self.plan.as_ref().is_some_and(is_this) {
                    self.discard();
                }
            }
            Event::Commit(in_force) | Event::Joined(in_force) => self.on_in_force(in_force)?,
            // Another one is the answer to one of this participant's policies.
            Event::Refused { reason, .. } if self.request.as_ref().is_some_and(|it| it.is_proposed) => {
                self.finish_request(Err(Error::new(ErrorKind::Refused, reason)));
            }
            Event::Expired => {
                let what = "the store took this participant for gone; it joins again";
                self.finish_request(Err(Error::new(ErrorKind::TimedOut, what)));
            }
            Event::StoreLost { kind, reason } => {
                tracing::debug!(%reason, "the store is lost; the stack in use stays");
                self.finish_request(Err(Error::new(kind, reason)));
            }
            Event::Fault { reason } => tracing::warn!(%reason, "a fault in the store was put right"),
            Event::Failed { kind, reason } => {
                return Err(Error::new(kind, reason).at("rendezvous").ending_connection());
            }
            Event::Refused { .. } | Event::Participants(_) | Event::StoreBack | Event::Left => {}
        }
        self.propose();
        self.advance();
        Ok(())
    }

    /// The guarantees of the stack in use that one with these picks would lose, although this participant keeps them.
    fn lost_by(&self, picks: &[u8]) -> Set {
        let asked = self.request.as_ref().filter(|request| request.pick.is_met(&self.nodes, picks));
        let may_lose = self.may_lose | asked.map_or(Set::NONE, |request| request.pick.may_lose());
        let keeping = self.requirements.keeping(&self.nodes, &self.in_force.picks, may_lose);
        keeping.missing(&self.nodes, picks)
    }

    fn on_in_force(&mut self, in_force: InForce) -> Result<(), Error> {
        let id = round_of(&in_force);
        if id == round_of(&self.in_force) {
            self.in_force = in_force;
            return Ok(());
        }
        let is_staged = self.handover.staged() == Some(id) && self.handover.is_built();
        if !is_staged {
            // It was never asked.
            let lost = self.lost_by(&in_force.picks);
            if !lost.is_empty() {
                let what = format!("the others have changed to a stack that is not {lost}");
                return Err(Error::new(ErrorKind::Refused, what).at("rendezvous"));
            }
        }
        self.in_force = in_force.clone();
        match is_staged {
            true => self.handover.switch(false),
            false => self.missed = Some(in_force),
        }
        Ok(())
    }

    /// Takes up what waits, if nothing is under way.
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
                    format!("the change would lose what the stack in use is, {lost}, of which this participant does not let go"),
                )),
            }
        }
    }

    fn stage(&mut self, plan: Plan) {
        self.handover.stage(plan.id);
        self.handover.build();
        self.plan = Some(plan);
    }

    /// Forgets the next round, which does not come.
    fn discard(&mut self) {
        self.handover.discard();
        self.plan = None;
    }

    /// The staged stack is built, or can't be.
    ///
    /// # Errors
    /// Why the participant is out: it can't build the stack in force, and would only hold up the others.
    pub(super) fn on_built(&mut self, built: Result<(), Error>) -> Result<(), Error> {
        let Some(plan) = &self.plan else { return Ok(()) };
        let (round, is_staged) = (plan.id.number, plan.is_staged);
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

    /// Sends in the old round have ended: the others may be told, and the rest of it be waited for.
    pub(super) fn on_sends_ended(&mut self) {
        self.handover.sends_ended();
        self.handover.await_rest();
        let (nodes, plan) = (&self.nodes, self.plan.as_ref());
        let is_met = |request: &Request| plan.is_some_and(|plan| request.pick.is_met(nodes, &plan.picks));
        if self.request.as_ref().is_some_and(is_met) {
            self.finish_request(Ok(()));
        }
    }

    /// No receiver is in the old stack any more.
    pub(super) fn on_receivers_left(&mut self) {
        self.handover.receivers_left();
        self.plan = None;
        self.advance();
    }

    /// The application asks for other alternatives.
    pub(super) fn on_request(&mut self, pick: Pick) {
        self.request = Some(Request { pick, is_proposed: false });
        self.propose();
    }

    /// Proposes the requested alternatives, unless that was done.
    fn propose(&mut self) {
        let Some(Request { pick, is_proposed: false }) = &self.request else { return };
        if self.orders.iter().any(|order| matches!(order, Order::Propose(_))) {
            return;
        }
        if pick.is_met(&self.nodes, &self.in_force.picks) {
            // Or will be once this participant has changed to what is in force.
            if self.handover.sends_in() == round_of(&self.in_force) {
                self.finish_request(Ok(()));
            }
            return;
        }
        // The requested alternatives are preferred among any number.
        let picks = pick
            .preferred(&self.nodes, &self.in_force.picks)
            .map(|nodes| preferred(&nodes, &Situation::TWO_ENDS));
        match picks {
            Ok(picks) => {
                let lost = self.lost_by(&picks);
                if lost.is_empty() {
                    return self.orders.push_back(Order::Propose(picks));
                }
                let what = format!(
                    "the change would lose what the stack in use is, {lost}; a pick lets go of it by `losing`"
                );
                self.finish_request(Err(Error::new(ErrorKind::Refused, what)));
            }
            Err(error) => self.finish_request(Err(error)),
        }
    }

    /// The proposal was taken, or not; `is_stale` if events that are still to come say more.
    pub(super) fn on_proposed(&mut self, proposed: Result<(), Error>, is_stale: bool) {
        match (proposed, &mut self.request) {
            (Ok(()), Some(request)) => request.is_proposed = true,
            // A proposal of this participant's policies is under way. Once it is decided, this one can be made.
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
    use crate::member::Description;
    use bertha_core::guarantee::Encrypted;
    use bertha_core::{LayerInfo, Properties};

    fn nodes() -> Vec<Node> {
        let layer = |name, guarantees| vec![Node::Layer(LayerInfo::plain(name, 1).guaranteeing(guarantees))];
        let branches = [layer("test::Secret", Set::of::<Encrypted>()), layer("test::Plain", Set::NONE)];
        vec![Node::Select { branches, prefer: 0.into() }]
    }

    fn in_force(round: u64, pick: u8) -> InForce {
        let (picks, stack) = (vec![pick], Description::of(&nodes(), &[pick]).unwrap());
        InForce { life: 1, round, stack, picks, leader: 1, own_id: 2 }
    }

    /// A participant that was taken for gone finds another stack in force when it comes back, or one that says so.
    #[test]
    fn who_joins_again_does_not_follow_into_a_stack_that_is_weaker() {
        for (may_lose, follows) in [(Set::NONE, false), (Set::ALL, true)] {
            let requirements = Requirements::new(Set::NONE, Properties::DATAGRAM);
            let mut agreement = StoreAgreement::new(nodes(), requirements, may_lose, in_force(1, 0));
            agreement.on_event(Event::Expired).unwrap();
            let joined = agreement.on_event(Event::Joined(in_force(2, 1)));
            assert_eq!(joined.is_ok(), follows);
            assert_eq!(agreement.handover().staged().is_some(), follows);
            if let Err(error) = joined {
                assert!(error.to_string().contains("not encrypted"), "{error}");
            }
        }
    }
}
