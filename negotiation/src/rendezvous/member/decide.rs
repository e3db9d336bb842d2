//! The next transaction of a participant that has joined: it refuses, stages, commits, expires or proposes an
//! upgrade, corrects the record, or leaves.

use super::event::Event;
use super::join::record_of;
use super::machine::{Answer, Member, Membership};
use super::record::{self, Presence, Proposal, RECORD, Record, UPGRADE, is_far, presence_key};
use super::view::{Recorded, View};
use crate::rendezvous::store::{Revision, Transaction};

impl Member {
    /// Returns the next step of the work under way; `None` while other participants have to take their steps.
    pub(super) fn act(&mut self, view: &View) -> Option<Transaction> {
        let (version, presence) = *view.participants.get(&self.id)?;
        if let Some(record) = self.restoration(view, presence) {
            if std::mem::replace(&mut self.restored, true) {
                return None;
            }
            let reason = match &view.record {
                Recorded::Absent => "the record is gone".into(),
                Recorded::Malformed(reason) => format!("the record is malformed: {reason}"),
                Recorded::Record(record) => {
                    format!(
                        "round {} of life {:x} did not come about as it has to",
                        record.round, record.life
                    )
                }
            };
            self.events.push_back(Event::Fault { reason });
            return self.change(view, version, &record);
        }
        let Recorded::Record(record) = &view.record else { return None };
        match &record.proposal {
            Some(proposal) => self.further(view, version, presence, record, proposal),
            None => self.bring_up(view, version, record),
        }
    }

    /// Returns the correct record, if the record in the store contradicts the knowledge and consent of this
    /// participant.
    ///
    /// The participant has been in all the time, so no stack can have come into force that it did not accept,
    /// and no participant that keeps to the protocol believes that one did.
    fn restoration(&self, view: &View, presence: Presence) -> Option<Record> {
        let active = self.active.as_ref().filter(|_| self.is_inside())?;
        let Recorded::Record(record) = &view.record else { return Some(record_of(active)) };
        let contradicts = record.life != active.life
            || record.round < active.round
            || record.is_far_ahead_of(active.round)
            || (record.round == active.round && record.stack != active.stack)
            || (record.round > active.round && !self.has_accepted(record, presence));
        let of_record = if record.life == active.life { record.last.max(record.round) } else { 0 };
        let reachable = |round: &u64| !is_far(*round, active.round);
        let last = [of_record, presence.accepted].into_iter().filter(reachable).fold(active.round, u64::max);
        contradicts.then(|| Record { last, ..record_of(active) })
    }

    /// Returns true if this participant staged the stack of the record, and the store says so.
    fn has_accepted(&self, record: &Record, presence: Presence) -> bool {
        self.agreed_to(record).is_some() && presence.has_accepted(record.round, &record.stack)
    }

    /// Refuses, stages, commits or gives up the upgrade under way.
    fn further(
        &self,
        view: &View,
        version: Revision,
        presence: Presence,
        record: &Record,
        proposal: &Proposal,
    ) -> Option<Transaction> {
        let answer = self.staged.as_ref().filter(|staged| staged.stack.round == proposal.round);
        let others_accepted = view.missing(proposal.round, &proposal.stack).all(|id| id == self.id);
        let accepted = presence.has_accepted(proposal.round, &proposal.stack);
        match answer.map(|staged| &staged.answer) {
            Some(Answer::Ready) if accepted && others_accepted => {
                Some(self.change(view, version, &record.committed()?)?.delete(UPGRADE))
            }
            Some(Answer::Refused(reason)) => {
                let refused = record.refused(Some(self.id), reason.clone());
                Some(self.change(view, version, &refused)?.delete(UPGRADE))
            }
            _ if !view.in_time => {
                let missing: Vec<String> =
                    view.missing(proposal.round, &proposal.stack).map(|id| format!("{id:016x}")).collect();
                let reason = format!("not staged in time by {}", missing.join(", "));
                self.change(view, version, &record.refused(None, reason))
            }
            Some(Answer::Ready) if !accepted => {
                let staged = record::encode(&Presence {
                    active: presence.active.max(self.active.as_ref().map_or(0, |known| known.round)),
                    accepted: proposal.round,
                    check: proposal.stack.check(),
                })?;
                let key = presence_key(self.id);
                let stage = match others_accepted {
                    // The last participant commits with the same step.
                    true => self.change(view, version, &record.committed()?)?.delete(UPGRADE),
                    false => Transaction::new().expect(RECORD, view.record_version).expect(&key, version),
                };
                Some(stage.put_for(key, staged, self.settings.lease))
            }
            _ => None,
        }
    }

    /// Proposes the intended stack.
    fn bring_up(&mut self, view: &View, version: Revision, record: &Record) -> Option<Transaction> {
        let intent = self.intent.as_ref().filter(|_| self.is_inside())?;
        let proposed =
            self.own.describe(&intent.picks).ok().and_then(|stack| record.proposed(self.id, stack));
        let Some(proposed) = proposed else {
            self.intent = None;
            let reason = "the connection has used up all rounds, or the stack can't be described".into();
            self.events.push_back(Event::Refused { round: record.last, reason });
            return None;
        };
        let propose = self.change(view, version, &proposed)?;
        Some(propose.put_for(UPGRADE, Vec::new(), self.settings.staging))
    }

    /// Changes the record, if it is unchanged since it was read and this participant has not expired.
    fn change(&self, view: &View, version: Revision, record: &Record) -> Option<Transaction> {
        let change =
            Transaction::new().expect(RECORD, view.record_version).expect(presence_key(self.id), version);
        Some(change.put(RECORD, record::encode(record)?))
    }

    /// Leaves, for good or until the next tick; the last participant removes the record.
    pub(super) fn part(&mut self, view: &View) -> Option<Transaction> {
        let Some((version, _)) = view.participants.get(&self.id) else {
            if let Membership::Leaving(why) = std::mem::replace(&mut self.membership, Membership::Gone) {
                self.events.push_back(why);
            } else {
                self.come_again();
                // The pause lets other waiting participants come first.
                self.paused = true;
            }
            return None;
        };
        let key = presence_key(self.id);
        let part = Transaction::new().expect(&key, *version).delete(key);
        Some(match view.participants.len() {
            1 => part.expect(RECORD, view.record_version).delete(RECORD).delete(UPGRADE),
            _ => part,
        })
    }
}
