//! The end that proposes a change, up to the answer of its peer.

use super::{PeerAgreement, Phase, Proposal, UpgradeRequest, error};
use crate::handshake::Pruned;
use crate::upgrade::pick::Pick;
use crate::wire::{Offer, UpgradeStep};
use bertha_core::{Error, ErrorKind, Node, Situation, preferred};
use std::time::Instant;

impl PeerAgreement {
    /// Handles the application's request for other alternatives.
    pub(crate) fn on_request(&mut self, now: Instant, pick: Pick) {
        self.request = Some(UpgradeRequest { pick, until: now + self.terms.proposal_timeout });
        self.propose(now);
    }

    /// Proposes the requested stack, if no change is under way.
    pub(super) fn propose(&mut self, now: Instant) {
        let Phase::Idle = self.phase else { return };
        let Some(request) = self.request.take() else { return };
        let wanted = match request.pick.preferred(&self.terms.nodes, &self.picks) {
            Ok(wanted) => wanted,
            Err(error) => return self.reports.push_back(Err(error)),
        };
        if request.pick.is_met(&self.terms.nodes, &self.picks) {
            return self.reports.push_back(Ok(()));
        }
        let Some(epoch) = self.highest.checked_add(1) else {
            let what = "the connection has used up the numbers of its changes";
            return self.reports.push_back(Err(error(ErrorKind::Exhausted, what)));
        };
        match self.proposal(&wanted, &request.pick) {
            Ok(proposal) => self.propose_as(now, epoch, request, proposal),
            Err(error) => self.reports.push_back(Err(error)),
        }
    }

    /// Returns the proposal of the alternatives in `wanted`, without alternatives that lose more guarantees
    /// than the pick or the settings allow.
    fn proposal(&self, wanted: &[Node], pick: &Pick) -> Result<Proposal, Error> {
        let may_lose = self.terms.may_lose | pick.may_lose();
        let requirements = self.terms.requirements.keeping(wanted, &self.picks, may_lose);
        let Pruned { nodes, choices } = Pruned::new(wanted, requirements);
        let left = choices.expand(&preferred(&nodes, &Situation::TWO_ENDS));
        if !pick.is_met(wanted, &left) {
            let lost = requirements.missing(wanted, &preferred(wanted, &Situation::TWO_ENDS));
            let what = match lost.is_empty() {
                true => "with these alternatives a Chunnel lacks what it needs below it".into(),
                false => format!(
                    "the change would lose guarantees of the stack in use, {lost}; a pick lets go of it by `losing`, and the other end by `Settings::may_lose`"
                ),
            };
            return Err(error(ErrorKind::Refused, what));
        }
        let invalid = |mismatch| error(ErrorKind::Invalid, format!("the stack can't be offered: {mismatch}"));
        Ok(Proposal { offer: Offer::new(self.terms.id, &nodes).map_err(invalid)?, choices, requirements })
    }

    pub(super) fn propose_as(
        &mut self,
        now: Instant,
        epoch: u64,
        request: UpgradeRequest,
        proposal: Proposal,
    ) {
        self.highest = epoch;
        self.send(epoch, UpgradeStep::Propose { offer: proposal.offer.clone() });
        self.repeat_from(now);
        self.handover.stage(epoch);
        self.phase = Phase::Proposing { epoch, request, proposal, agreed: None, is_ready: false };
    }
}
