//! Joining: adopting the stack in force, making the record, or applying with the participant's own stack.

use super::event::{Event, InForce};
use super::machine::{Admission, Intent, Member, Membership};
use super::record::{self, Presence, RECORD, Record, UPGRADE, presence_key};
use super::view::{Recorded, View};
use crate::rendezvous::store::{Revision, Transaction};
use bertha_core::ErrorKind;

impl Member {
    /// Returns the transaction that joins; `None` while joining has to wait.
    pub(super) fn enter(&mut self, view: &View) -> Option<Transaction> {
        self.intent = None;
        let (entry, record) = match &view.record {
            Recorded::Record(record) if !view.participants.is_empty() => {
                // A newcomer waits for the end of an upgrade. A stack to which not every participant has
                // agreed is not in force, even if the record says so.
                if record.proposal.is_some() || view.missing(record.round, &record.stack).next().is_some() {
                    return None;
                }
                if view.participants.len() >= self.settings.participants {
                    let reason = format!("there are {} participants already", view.participants.len());
                    return self.fail(ErrorKind::Exhausted, reason);
                }
                self.come_in(view, record)?
            }
            // All participants expired, and the record is still there: a participant that was inside goes on
            // from it.
            Recorded::Record(record) if self.was_in(record.life) && self.adopted(record).is_ok() => {
                let record = record.refused(None, "everyone expired".into());
                (Admission::Adopts(self.adopted(&record).ok()?), record)
            }
            // A participant that is inside corrects the record.
            Recorded::Malformed(reason) if !view.participants.is_empty() => {
                return self.ask_for_correction(view, reason);
            }
            Recorded::Absent if !view.participants.is_empty() => {
                return self.ask_for_correction(view, "it is gone");
            }
            _ => self.begin(view)?,
        };
        let applies = matches!(entry, Admission::Applies(_));
        self.membership = Membership::Entering(entry);
        let presence = record::encode(&Presence::since(record.round))?;
        let key = presence_key(self.id);
        let transaction = Transaction::new()
            .expect(RECORD, view.record_version)
            .expect(&key, Revision::ABSENT)
            .put(RECORD, record::encode(&record)?)
            .put_for(&key, presence, self.settings.lease);
        Some(if applies {
            transaction.put_for(UPGRADE, Vec::new(), self.settings.staging)
        } else if view.in_time {
            transaction.delete(UPGRADE)
        } else {
            transaction
        })
    }

    /// Changes something that has no meaning without a record, so that the participants learn of a change that its writer did not
    /// announce. At most once between two ticks.
    fn ask_for_correction(&mut self, view: &View, reason: &str) -> Option<Transaction> {
        if std::mem::replace(&mut self.restored, true) {
            return None;
        }
        tracing::warn!(
            target: "bertha::negotiation",
            key = RECORD,
            reason,
            "the record of a group can't be read; its participants are asked to write it again, which they do unless all have gone"
        );
        Some(Transaction::new().expect(RECORD, view.record_version).delete(UPGRADE))
    }

    fn was_in(&self, life: u64) -> bool {
        self.active.as_ref().is_some_and(|active| active.life == life)
    }

    /// Returns the stack of the record, as this participant sees it.
    ///
    /// # Errors
    /// The Chunnel of the stack that this participant can't run, and the reason.
    fn adopted(&self, record: &Record) -> Result<InForce, String> {
        let picks = match &self.active {
            Some(known) if known.stack == record.stack => known.picks.clone(),
            _ => self.own.picks_for(&record.stack)?,
        };
        let Record { life, round, leader, .. } = *record;
        Ok(InForce { life, round, stack: record.stack.clone(), picks, leader, own_id: self.id })
    }

    /// Adopts the stack in force if this participant can run it, and applies with a proposal otherwise.
    fn come_in(&mut self, view: &View, record: &Record) -> Option<(Admission, Record)> {
        let reason = match self.adopted(record) {
            Ok(stack) => return Some((Admission::Adopts(stack), record.clone())),
            Err(reason) => reason,
        };
        let picks = self.own.preferred(view.participants.len() + 1);
        let proposed = match self.own.describe(&picks) {
            Ok(stack) => record.proposed(self.id, stack),
            Err(error) => return self.fail(error.kind(), error.context().into()),
        };
        let Some(proposed) = proposed else {
            return self.fail(ErrorKind::Refused, format!("cannot run the stack in force: {reason}"));
        };
        tracing::debug!(target: "bertha::negotiation", %reason, "cannot run the stack in force, so proposes another");
        self.intent = Some(Intent { picks, by_policy: false });
        Some((Admission::Applies(proposed.last), proposed))
    }

    /// Makes the record, with the stack in use here or the preferred stack.
    fn begin(&mut self, view: &View) -> Option<(Admission, Record)> {
        let last = match &view.record {
            Recorded::Record(record) => record.last,
            _ => 0,
        };
        let (known, stack, picks) = match &self.active {
            Some(known) => (known.round, known.stack.clone(), known.picks.clone()),
            None => {
                let picks = self.own.preferred(1);
                match self.own.describe(&picks) {
                    Ok(stack) => (0, stack, picks),
                    Err(error) => return self.fail(error.kind(), error.context().into()),
                }
            }
        };
        let round = known.max(last).checked_add(1).unwrap_or(1);
        let life = self.life;
        let leader = self.id;
        let own_id = self.id;
        let stack = InForce { life, round, stack, picks, leader, own_id };
        Some((Admission::Adopts(stack.clone()), record_of(&stack)))
    }

    /// Gives up joining for this reason.
    pub(super) fn fail<T>(&mut self, kind: ErrorKind, reason: String) -> Option<T> {
        self.membership = Membership::Gone;
        self.events.push_back(Event::Failed { kind, reason });
        None
    }
}

/// Returns the record that says that this stack is in force, without any upgrade.
pub(super) fn record_of(stack: &InForce) -> Record {
    let InForce { life, round, stack, leader, .. } = stack.clone();
    Record { life, round, stack, leader, last: round, proposal: None, refusal: None }
}
