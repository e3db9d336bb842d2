//! The end that answers a proposal: its search for a stack.

use super::{Agreed, ChangeTerms, PeerAgreement, Phase, transcript};
use crate::handshake::{Capabilities, Match, find_for_proposer};
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
        // Too many proposals have failed: no answer. An honest proposer repeats its proposal.
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
                // The check below then accepts `epoch`.
                self.highest = epoch - 1;
            }
            // This end's number is higher: the proposal is declined below.
            Phase::Proposing { .. } if self.terms.role == Role::Client => {}
            Phase::Idle => {}
            // This end is still changing, or its own proposal comes first. The peer repeats its proposal.
            _ => return,
        }
        if epoch <= self.highest {
            if epoch > self.active {
                // 0: there is no number left to propose.
                let next = self.highest.checked_add(1).unwrap_or(0);
                self.send(epoch, UpgradeStep::Decline { next, text: "the number is used".into() });
            }
            return self.propose(now);
        }
        self.repetition = None;
        self.highest = epoch;
        let found = match offer.nodes() {
            Some(offered) => self.find(&offered).map(|found| (offered, found)),
            None => Err("the proposal contradicts itself".into()),
        };
        match found {
            Ok((offered, found)) => {
                // The search calls the proposer the client, and this end the server.
                let Match { client_picks: proposer_picks, server_picks: own_picks, reasons, .. } = found;
                let reasons = wire::cut(reasons.join("; "));
                let layers = resolve(&self.terms.nodes, Picks::new(&own_picks));
                let Capabilities { client, server } = Capabilities::new(&offered, &proposer_picks, &layers);
                let transcript = transcript(epoch, offer, [&proposer_picks, &own_picks], &server);
                let picks = own_picks.clone();
                let agreed = Agreed { picks, peer: client, reasons: reasons.clone(), transcript };
                let accept = UpgradeStep::Accept {
                    is_ready: false,
                    proposer_picks,
                    own_picks,
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
    /// keeps. If only the stack in use is left, fails with the guarantees that a weaker stack would lose.
    fn find(&self, offered: &[OfferedNode]) -> Result<Match, String> {
        let ChangeTerms { nodes, requirements, may_lose, .. } = &self.terms;
        let keeping = requirements.keeping(nodes, &self.picks, *may_lose);
        let found = find_for_proposer(offered, nodes, keeping).map_err(|rejected| rejected.reason);
        if found.as_ref().is_ok_and(|found| found.server_picks != self.picks) {
            return found;
        }
        let weaker = find_for_proposer(offered, nodes, *requirements).ok();
        let lost = weaker.map_or(Set::NONE, |weaker| keeping.missing(nodes, &weaker.server_picks));
        match lost.is_empty() {
            true => found,
            false => Err(format!(
                "the change would lose guarantees that this end keeps: {lost}; see `Settings::may_lose`"
            )),
        }
    }
}
