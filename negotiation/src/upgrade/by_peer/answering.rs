//! The end that answers a proposal: its search for a stack.

use super::{Agreed, PeerAgreement, Phase, Terms, said};
use crate::handshake::{Capabilities, Match, find_wished};
use crate::wire::{self, Offer, OfferedNode, UpgradeStep};
use bertha_core::guarantee::Set;
use bertha_core::{Picks, Role, resolve};
use std::time::Instant;

impl PeerAgreement {
    pub(super) fn on_propose(&mut self, now: Instant, epoch: u64, offer: &Offer) {
        if self.is_far(epoch) {
            let next = self.highest + 1;
            let text = "the number is too far ahead".into();
            return self.send(epoch, UpgradeStep::Decline { next, text });
        }
        match &self.phase {
            // The answer was lost.
            Phase::Staging { epoch: staged, accept, .. } if *staged == epoch => {
                let accept = accept.clone();
                return self.send(epoch, accept);
            }
            // The proposer has given up the attempt before.
            Phase::Staging { epoch: staged, .. } if *staged < epoch => self.unstage(now),
            _ => {}
        }
        // The proposer repeats the proposal.
        if self.vain.are_too_many(now) {
            return self.propose(now);
        }
        match &self.phase {
            // Both ends propose: the server's proposal comes first, and the client's after it.
            Phase::Proposing { epoch: own, request, .. }
                if self.terms.role == Role::Client && *own <= epoch =>
            {
                self.request = Some(request.clone());
                self.handover.discard();
                self.phase = Phase::Idle;
                self.highest = epoch - 1;
            }
            Phase::Proposing { .. } if self.terms.role == Role::Client => {}
            Phase::Idle => {}
            // The accept is repeated until this end is ready for the attempt.
            _ => return,
        }
        if epoch <= self.highest {
            if epoch > self.active {
                // Beyond the highest number no number would help.
                let next = self.highest.checked_add(1).unwrap_or(0);
                self.send(epoch, UpgradeStep::Decline { next, text: "the number is used".into() });
            }
            return self.propose(now);
        }
        self.repetition = None;
        self.highest = epoch;
        let found = match offer.nodes() {
            Some(wanted) => self.find(&wanted).map(|found| (wanted, found)),
            None => Err("the proposal contradicts itself".into()),
        };
        match found {
            Ok((wanted, found)) => {
                let picks = found.server_picks;
                let reasons = wire::cut(found.reasons.join("; "));
                let layers = resolve(&self.terms.nodes, Picks::new(&picks));
                let Capabilities { client, server } =
                    Capabilities::new(&wanted, &found.client_picks, &layers);
                let said = said(epoch, offer, [&found.client_picks, &picks], &server);
                let agreed = Agreed { picks: picks.clone(), peer: client, reasons: reasons.clone(), said };
                let accept = UpgradeStep::Accept {
                    is_ready: false,
                    proposer_picks: found.client_picks,
                    own_picks: picks,
                    reasons,
                    capabilities: server,
                };
                self.handover.stage(epoch);
                self.handover.build();
                self.send(epoch, accept.clone());
                self.phase = Phase::Staging { epoch, accept, agreed };
            }
            Err(text) => {
                self.send(epoch, UpgradeStep::Decline { next: 0, text: wire::cut(text) });
                self.propose(now);
            }
        }
    }

    /// Returns the stack that the proposer prefers, among the stacks that lose no guarantee that this end
    /// keeps.
    fn find(&self, wanted: &[OfferedNode]) -> Result<Match, String> {
        let Terms { nodes, requirements, may_lose, .. } = &self.terms;
        let keeping = requirements.keeping(nodes, &self.picks, *may_lose);
        let found = find_wished(wanted, nodes, keeping);
        if found.as_ref().is_ok_and(|found| found.server_picks != self.picks) {
            return found.map_err(|rejected| rejected.reason);
        }
        let weaker = find_wished(wanted, nodes, *requirements).ok();
        let lost = weaker.map_or(Set::NONE, |weaker| keeping.missing(nodes, &weaker.server_picks));
        match lost.is_empty() {
            true => found.map_err(|rejected| rejected.reason),
            false => Err(format!(
                "the change would lose what the stack in use is, {lost}, of which this end does not let go; see `Settings::may_lose`"
            )),
        }
    }
}
