//! The consequences of a new snapshot for a participant.

use super::event::{Event, InForce};
use super::machine::{Admission, Answer, Intent, Member, Membership, OwnProposal, Staged};
use super::record::{Proposal, Record};
use super::view::{Recorded, View};
use bertha_core::ErrorKind;

impl Member {
    /// Draws the consequences of the newest view.
    pub(super) fn follow(&mut self) {
        let Some(view) = self.view.take() else { return };
        let is_there = view.participants.contains_key(&self.id);
        match &self.membership {
            Membership::Entering(_) if is_there => self.entered(&view),
            Membership::Inside { .. } if is_there => self.learn(&view),
            Membership::Inside { .. } => self.expired(),
            _ => {}
        }
        self.view = Some(view);
    }

    fn entered(&mut self, view: &View) {
        let Membership::Entering(entry) = std::mem::replace(&mut self.membership, Membership::Outside) else {
            return;
        };
        self.membership = Membership::Inside { applies: matches!(entry, Admission::Applies(_)) };
        match entry {
            Admission::Adopts(stack) => {
                self.active = Some(stack.clone());
                self.events.push_back(Event::Joined(stack));
            }
            // The other participants may have decided about the proposal already.
            Admission::Applies(round) => {
                self.proposed = Some(OwnProposal { round, intent: self.intent.take() })
            }
        }
        self.learn(view);
    }

    /// Handles that the participant has expired in the store: its staged stack no longer counts, and it has
    /// to join anew.
    fn expired(&mut self) {
        self.abandon();
        if let Some(OwnProposal { round, .. }) = self.proposed.take() {
            let reason = "the proposer expired in the store".into();
            self.events.push_back(Event::Refused { round, reason });
        }
        self.intent = None;
        self.come_again();
        self.events.push_back(Event::Expired);
    }

    /// Joins anew. A staged stack no longer counts.
    pub(super) fn come_again(&mut self) {
        self.withdrawn = None;
        (self.id, self.life) = (self.ids.draw(), self.ids.draw());
        self.membership = Membership::Outside;
    }

    fn learn(&mut self, view: &View) {
        let record = match &view.record {
            Recorded::Record(record) => Some(record),
            _ => None,
        };
        // The participants are reported before a commit, so that the owner knows them when it changes to the
        // stack.
        if !view.participants.keys().eq(&self.present) {
            self.present = view.participants.keys().copied().collect();
            self.events.push_back(Event::Participants(self.present.clone()));
            self.tried = None;
            self.backoff.begin_anew(record);
        }
        if let Some(record) = record {
            self.backoff.learn(record);
            self.learn_commit(view, record);
            self.learn_refusal(record);
            if let Some(proposal) = &record.proposal {
                self.consider(record, proposal);
            }
        }
        self.consult_policies();
    }

    /// Follows a commit, but only from a record of a stack that this participant has staged, and that all
    /// participants have accepted.
    fn learn_commit(&mut self, view: &View, record: &Record) {
        if view.missing(record.round, &record.stack).next().is_some() {
            return;
        }
        let Some(stack) = self.agreed_to(record).cloned() else { return };
        self.staged = None;
        self.withdrawn = None;
        self.wants_round = false;
        self.backoff.begin_anew(Some(record));
        if let Some(OwnProposal { intent: Some(intent), .. }) =
            self.proposed.take_if(|proposed| proposed.round <= stack.round)
        {
            self.granted(intent);
        }
        self.active = Some(stack.clone());
        let membership = std::mem::replace(&mut self.membership, Membership::Inside { applies: false });
        self.events.push_back(match membership {
            Membership::Inside { applies: true } => Event::Joined(stack),
            _ => Event::Commit(stack),
        });
    }

    /// Returns the stack that this participant staged, if it is the stack of the record and not in force yet.
    pub(super) fn agreed_to(&self, record: &Record) -> Option<&InForce> {
        let ready = self.staged.as_ref().filter(|staged| staged.answer == Answer::Ready);
        let agreed = ready.map(|staged| &staged.stack).into_iter().chain(&self.withdrawn);
        agreed.into_iter().find(|stack| {
            (stack.life, stack.round, &stack.stack) == (record.life, record.round, &record.stack)
        })
    }

    /// Handles that the stack that this participant proposed is about to be in force. Its policies don't
    /// propose the stack again among the same participants, since two policies that disagree would otherwise
    /// alternate for ever.
    fn granted(&mut self, Intent { picks, by_policy }: Intent) {
        // A stack that only got another leader was not preferred to another stack.
        if by_policy && self.active.as_ref().is_none_or(|known| known.picks != picks) {
            self.tried = Some(picks);
        }
    }

    fn learn_refusal(&mut self, record: &Record) {
        let under_way = record.proposal.as_ref().map(|proposal| (proposal.round, &proposal.stack));
        let staged = self.staged.as_ref().map(|staged| (staged.stack.round, &staged.stack.stack));
        if staged.is_some() && staged != under_way {
            self.abandon();
        }
        let under_way = under_way.map(|(round, _)| round);
        let decided = self.proposed.take_if(|proposed| Some(proposed.round) != under_way);
        let Some(OwnProposal { round, .. }) = decided else { return };
        let refusal = record.refusal.as_ref().filter(|refusal| refusal.round == round);
        let reason = match refusal.map(|refusal| (refusal.by, refusal.reason.clone())) {
            Some((Some(by), reason)) => format!("participant {by:016x} refuses: {reason}"),
            Some((None, reason)) => reason,
            None => "somebody refused".into(),
        };
        if self.membership == (Membership::Inside { applies: true }) {
            return match refusal.and_then(|refusal| refusal.by) {
                Some(_) => self.go(Event::Failed { kind: ErrorKind::Refused, reason }),
                // A late participant is no decision against the stack.
                None => self.membership = Membership::Retreating,
            };
        }
        // An owner that has made a proposal since would take the event for the answer to that proposal.
        if self.intent.as_ref().is_none_or(|intent| intent.by_policy) {
            self.events.push_back(Event::Refused { round, reason });
        }
    }

    fn abandon(&mut self) {
        let Some(Staged { stack, answer }) = self.staged.take() else { return };
        // An owner that refused, or was never asked, has nothing to discard.
        if let Answer::Asked | Answer::Ready = answer {
            self.events.push_back(Event::Abandoned { round: stack.round });
        }
        self.withdrawn = (answer == Answer::Ready).then_some(stack);
    }

    /// Decides about the upgrade under way, if it is new.
    fn consider(&mut self, record: &Record, proposal: &Proposal) {
        let applies = self.membership == (Membership::Inside { applies: true });
        let is_own = proposal.proposer == self.id;
        let known = self.active.as_ref().filter(|_| !applies).map(|known| (known.life, known.round));
        // An applicant has to be gone before any other upgrade is decided, and nothing follows from a wrong
        // record.
        let follows = known.is_none_or(|known| known == (record.life, record.round));
        if self.staged.is_some() || proposal.round <= record.round || (applies && !is_own) || !follows {
            return;
        }
        let picks = match is_own.then(|| self.own_picks(proposal)).flatten() {
            Some(picks) => Ok(picks),
            None => self.own.picks_for(&proposal.stack),
        };
        let round = proposal.round;
        let stack = proposal.stack.clone();
        let (picks, answer) = match picks {
            Ok(picks) => (picks, Answer::Asked),
            Err(reason) => (Vec::new(), Answer::Refused(reason)),
        };
        if answer == Answer::Asked {
            let stack = stack.clone();
            let picks = picks.clone();
            self.events.push_back(Event::Stage { round, stack, picks, leads: is_own });
        }
        let life = record.life;
        let leader = proposal.proposer;
        let stack = InForce { life, round, stack, picks, leader, own_id: self.id };
        self.staged = Some(Staged { stack, answer });
    }

    /// Records that the upgrade under way is this participant's own. Returns the picks that it proposed.
    fn own_picks(&mut self, proposal: &Proposal) -> Option<Vec<u8>> {
        let Proposal { round, stack, .. } = proposal;
        if self.proposed.as_ref().is_none_or(|proposed| proposed.round != *round) {
            let own = &self.own;
            let is_this =
                |intent: &mut Intent| own.describe(&intent.picks).is_ok_and(|intended| intended == *stack);
            self.proposed = Some(OwnProposal { round: *round, intent: self.intent.take_if(is_this) });
        }
        Some(self.proposed.as_ref()?.intent.as_ref()?.picks.clone())
    }

    pub(super) fn consult_policies(&mut self) {
        let Some(active) = self.active.as_ref().filter(|_| self.is_inside()) else { return };
        if self.proposed.is_some() || self.intent.as_ref().is_some_and(|intent| !intent.by_policy) {
            return;
        }
        let picks = self.own.improvement(&active.picks, self.present.len());
        let picks = picks
            .filter(|picks| !self.backoff.holds_back() && self.tried.as_ref() != Some(picks))
            .or_else(|| self.renewal(active));
        self.intent = picks.map(|picks| Intent { picks, by_policy: true });
    }

    /// Returns the picks of the stack in force, to propose it again, if its leader has gone and another
    /// participant is to lead, or if the owner wants another round.
    fn renewal(&self, active: &InForce) -> Option<Vec<u8>> {
        let is_gone = self.present.binary_search(&active.leader).is_err();
        let wants = self.settings.renews && is_gone || self.wants_round;
        let may_renew = wants && !self.backoff.holds_back_leaders();
        may_renew.then(|| active.picks.clone())
    }
}
