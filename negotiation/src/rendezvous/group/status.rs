//! The progress of each participant in a change of rounds where messages are shared, without I/O.
//!
//! Over a topic of a messaging service a message reaches one receiver, not all. So no participant can tell
//! from the messages that it receives whether all messages of a round have arrived, and a report over the
//! group would not reach all participants. Participants report their progress in the store: each participant
//! has one [`Status`] there, under the connection's name and `.statuses`.
//!
//! # The argument
//!
//! 1. **A round has members that are fixed before its first message.** A participant has a part in a round if
//!    it has staged the round, or has made the record of which the round is the first. A newcomer has no part
//!    in the round that it finds in force: it neither sends nor receives, and proposes the next round. So
//!    within a round, a stack whose order depends on a single receiver never gets a second receiver, and
//!    never a second publisher with numbers of its own. A stack that needs every message below it is refused
//!    for a round with senders and several receivers.
//! 2. **A change lets the old round run empty before the new round has a message.** At the commit each
//!    publisher ends its sends and reports the messages that it has sent, as a [`Tally`]; sends in the new
//!    round wait. Receivers read on in the old round, and report the messages that their applications have
//!    received and dropped; at the drop the service forgets the message. When both sums are equal, the old
//!    round is empty, and receivers go on in the new round. Publishers send in it once all participants have
//!    reached this point. So no receiver ever meets a message of a round that it does not know, no message
//!    overtakes the change, no messages of a key are swapped, and a participant that is killed after the
//!    change takes no message of the old round with it. The price: a change takes as long as the slowest
//!    application holds a message.
//! 3. **Repetitions** of a message at one receiver count once. A repetition that arrives while the message is
//!    still held here is not handed on, and is dropped together with the message: its acknowledgement may
//!    count for both. If the service repeats a message at another receiver, the sums differ for good. The
//!    sums are unknown if a participant vanished. In both cases the change waits until no new message has
//!    arrived at any participant for the service's time of redelivery and
//!    [`drain_timeout`](crate::rendezvous::RendezvousSettings::drain_timeout): by then other receivers have the messages
//!    that the vanished participant held.
//! 4. **A participant that leaves** gives back the messages that its application has not dropped, and reports
//!    the dropped messages: they are its share, and the rest arrives elsewhere. It leaves in the middle of a
//!    change, too, since its application receives no more.
//! 5. **A round whose receivers have all gone** is taken over by one newcomer: the newcomer with the smallest
//!    id. It has built the old stack, without the state of its predecessors, and gets the messages that the
//!    service delivers again and the messages that no receiver has got yet. A stack that waits for messages
//!    that were received before holds the later messages back; so here the messages that have arrived count,
//!    and the stack releases them, in order, when the round ends. Without a receiver no round ends:
//!    participants refuse changes as long as messages wait for a receiver.
//! 6. **A message of another round** may still arrive after a time-out, or from participants that have all
//!    gone. It can't be decoded. It is kept and not acknowledged, and so stays at the service.
//!
//! A participant that the store takes for gone although it is there has no part any more, from the next
//! commit on: its waiting sends then fail, and it proposes a round to get a part again.

use super::round_id::RoundId;
use super::tally::Tally;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A participant's report about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Status {
    /// The newest round that the participant is in.
    pub(super) round: RoundId,
    /// True if the participant sends and receives in that round.
    pub(super) has_part: bool,
    pub(super) sends: bool,
    pub(super) receives: bool,
    /// The round that the participant was in before, until the change is over.
    pub(super) before: Option<Ended>,
    /// True if the participant has left in good order.
    pub(super) has_left: bool,
}

/// A participant's share of a round in which it sends no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ended {
    pub(super) round: RoundId,
    pub(super) had_part: bool,
    pub(super) sent: Tally,
    /// The messages that no other receiver will get, as the participant reports.
    pub(super) taken: Tally,
    /// True if the participant waits for no message of that round any more.
    pub(super) is_over: bool,
}

/// The statuses of all participants, as far as the store has shown them.
#[derive(Debug)]
pub(super) struct Statuses {
    pub(super) own_id: u64,
    pub(super) own: Status,
    /// True if the store has this participant's own status.
    pub(super) is_published: bool,
    pub(super) others: BTreeMap<u64, Status>,
    /// All participants; empty until they are known.
    pub(super) present: Vec<u64>,
}

/// The progress of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Other participants have not begun the change.
    Behind,
    /// Messages of the old round are missing, or it is unknown whether messages are missing. The tally has
    /// the messages that were taken.
    Open(Tally),
    /// All messages of the old round were taken.
    Complete,
}

impl Statuses {
    pub(super) fn new(own_id: u64, own: Status) -> Self {
        Self { own_id, own, is_published: false, others: BTreeMap::new(), present: Vec::new() }
    }

    fn is_present(&self, id: u64) -> bool {
        self.present.contains(&id)
    }

    /// Returns all present participants except this one; without a status if the status is not known yet.
    fn peers(&self) -> impl Iterator<Item = (u64, Option<&Status>)> {
        let others = self.present.iter().filter(|id| **id != self.own_id);
        others.map(|id| (*id, self.others.get(id)))
    }

    /// Returns the statuses of participants that have gone.
    fn gone(&self) -> impl Iterator<Item = &Status> {
        self.others.iter().filter(|(id, _)| !self.is_present(**id)).map(|(_, status)| status)
    }

    /// Changes this participant's own status. Returns true if it differs from before.
    pub(super) fn change(&mut self, change: impl FnOnce(&mut Status)) -> bool {
        let before = self.own;
        change(&mut self.own);
        let has_changed = self.own != before;
        self.is_published &= !has_changed;
        has_changed
    }

    /// Records that this participant sends in `to` from now on, and has sent and taken these messages in the
    /// round before.
    pub(super) fn begin(&mut self, to: RoundId, has_part: bool, sent: Tally, taken: Tally) {
        self.change(|own| {
            let round = own.round;
            let had_part = own.has_part;
            own.before = Some(Ended { round, had_part, sent, taken, is_over: false });
            (own.round, own.has_part) = (to, has_part);
        });
    }

    /// Returns the progress of the change from the round `from`.
    pub(super) fn stage(&self, from: RoundId) -> Stage {
        let has_moved = |status: &Status| status.round != from;
        let is_known = self.is_present(self.own_id);
        if !is_known || self.peers().any(|(_, status)| !status.is_some_and(has_moved)) {
            return Stage::Behind;
        }
        let all: Vec<&Status> = self.all_present().chain(self.gone()).collect();
        let ended = |status: &Status| status.before.filter(|before| before.round == from);
        let shares: Vec<Ended> = all.iter().filter_map(|status| ended(status)).collect();
        let sum = |of: fn(&Ended) -> Tally| shares.iter().map(of).fold(Tally::default(), Tally::and);
        let (sent, taken) = (sum(|share| share.sent), sum(|share| share.taken));
        // Participants that left without publishing their counts.
        let has_vanished = all.iter().any(|status| status.round == from && status.has_part);
        if sent == taken && !has_vanished { Stage::Complete } else { Stage::Open(taken) }
    }

    /// Returns true if another participant has been in `from` as well, so that the round may have messages.
    pub(super) fn is_common(&self, from: RoundId) -> bool {
        let is_of = |status: &Status| {
            status.round == from || status.before.is_some_and(|before| before.round == from)
        };
        self.peers().filter_map(|(_, status)| status).chain(self.gone()).any(is_of)
    }

    /// Returns true if this participant, a receiver without a part in the round `from`, has to take over the
    /// messages that are left there.
    pub(super) fn takes_over(&self, from: RoundId) -> bool {
        let had_part = |status: &Status| {
            status.receives && status.before.is_some_and(|it| it.round == from && it.had_part)
        };
        let mut peers = self.peers().filter_map(|(id, status)| Some((id, status?)));
        let own = self.own.before.is_some_and(|before| before.round == from && !before.had_part);
        let is_first = |(id, peer): (u64, &Status)| {
            let is_newcomer = peer.receives && peer.before.is_some_and(|it| it.round == from && !it.had_part);
            !(had_part(peer) || is_newcomer && id < self.own_id)
        };
        self.own.receives && own && peers.all(is_first)
    }

    /// Returns the number of receivers that are there.
    pub(super) fn receivers(&self) -> usize {
        self.all_present().filter(|status| status.receives).count()
    }

    /// Returns the number of receivers that share messages; zero without a sender, since the round then stays
    /// empty.
    pub(super) fn competing(&self) -> usize {
        if self.all_present().any(|status| status.sends) { self.receivers() } else { 0 }
    }

    fn all_present(&self) -> impl Iterator<Item = &Status> {
        self.peers().filter_map(|(_, status)| status).chain([&self.own])
    }

    /// Returns true if all participants have completed the change to this participant's round, and none has
    /// begun the next change.
    fn all_are_here(&self) -> bool {
        let is_through = |status: &Status| {
            status.round == self.own.round && status.before.is_none_or(|before| before.is_over)
        };
        let own = self.is_published && self.is_present(self.own_id) && is_through(&self.own);
        own && self.peers().all(|(_, peer)| peer.is_some_and(is_through))
    }

    /// Returns true if all participants have completed the change to this participant's round. A participant
    /// that has begun the next change has completed it.
    pub(super) fn all_are_through(&self) -> bool {
        let is_through = |status: &Status| match status.round == self.own.round {
            true => status.before.is_none_or(|before| before.is_over),
            false => status.round.life == self.own.round.life && status.round.number > self.own.round.number,
        };
        let own = self.is_published && self.is_present(self.own_id) && is_through(&self.own);
        own && self.peers().all(|(_, peer)| peer.is_some_and(is_through))
    }

    /// Returns the participants whose statuses are not needed any more: they have gone, and their last round
    /// is over for all participants.
    pub(super) fn forgettable(&self) -> Vec<u64> {
        if !self.all_are_here() {
            return Vec::new();
        }
        let is_over = |status: &Status| status.round != self.own.round && !self.is_of_now(status);
        let gone = self.others.iter().filter(|(id, _)| !self.is_present(**id));
        gone.filter(|(_, status)| is_over(status)).map(|(id, _)| *id).collect()
    }

    /// Returns true if a participant that has gone had changed away from the round that this participant is
    /// in.
    fn is_of_now(&self, status: &Status) -> bool {
        status.before.is_some_and(|before| before.round == self.own.round)
    }

    /// Returns true if a participant that has gone has sent messages in the round `from` that may still wait
    /// for a receiver.
    pub(super) fn have_others_sent(&self, from: RoundId) -> bool {
        self.gone().any(|gone| {
            let share = gone.before.filter(|before| before.round == from);
            share.map_or(gone.round == from && gone.has_part, |share| share.sent.count > 0)
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;

    const OLD: RoundId = RoundId { life: 1, number: 4 };
    const NEW: RoundId = RoundId { life: 1, number: 5 };

    fn tally(numbers: std::ops::Range<u32>) -> Tally {
        let mut tally = Tally::default();
        numbers.for_each(|number| tally.add(9, number));
        tally
    }

    fn ended(had_part: bool, sent: u32, taken: std::ops::Range<u32>) -> Ended {
        Ended { round: OLD, had_part, sent: tally(0..sent), taken: tally(taken), is_over: false }
    }

    fn status(receives: bool, before: Option<Ended>) -> Status {
        let round = if before.is_some() { NEW } else { OLD };
        Status { round, has_part: true, sends: !receives, receives, before, has_left: false }
    }

    /// Returns the statuses that publisher 1 sees, with receivers 2 and 3.
    fn three() -> Statuses {
        let mut all = Statuses::new(1, status(false, None));
        all.present = vec![1, 2, 3];
        all.begin(NEW, true, tally(0..10), Tally::default());
        all
    }

    #[test]
    fn a_round_is_over_once_its_receivers_have_among_them_what_was_sent() {
        let mut all = three();
        all.others.insert(2, status(true, Some(ended(true, 0, 0..4))));
        assert_eq!(all.stage(OLD), Stage::Behind, "nothing is known of 3");
        all.others.insert(3, status(true, None));
        assert_eq!(all.stage(OLD), Stage::Behind);
        all.others.insert(3, status(true, Some(ended(true, 0, 4..9))));
        assert_eq!(all.stage(OLD), Stage::Open(tally(0..9)));
        all.others.insert(3, status(true, Some(ended(true, 0, 4..10))));
        assert_eq!(all.stage(OLD), Stage::Complete);
        all.others.insert(3, status(true, Some(ended(true, 0, 3..9))));
        assert!(matches!(all.stage(OLD), Stage::Open(_)), "one twice, one not at all");
    }

    #[test]
    fn of_who_left_the_share_is_known_and_of_who_vanished_it_is_not() {
        let mut all = three();
        all.present = vec![1, 2];
        all.others.insert(2, status(true, Some(ended(true, 0, 4..10))));
        all.others.insert(3, status(true, None));
        assert!(matches!(all.stage(OLD), Stage::Open(_)), "vanished");
        let share = Some(ended(true, 0, 0..4));
        all.others.insert(3, Status { has_left: true, ..status(true, share) });
        assert_eq!(all.stage(OLD), Stage::Complete);
        assert_eq!(all.forgettable(), []);
        for id in [1, 2] {
            let over = |status: &mut Status| status.before.as_mut().unwrap().is_over = true;
            match id {
                1 => assert!(all.change(over)),
                _ => over(all.others.get_mut(&id).unwrap()),
            }
        }
        assert!(!all.all_are_through(), "not published");
        all.is_published = true;
        assert!(all.all_are_through() && all.all_are_here());
        // A participant that is ahead has completed this change, and other participants may still need the
        // reports of participants that have gone.
        let ahead = RoundId { number: NEW.number + 1, ..NEW };
        let before = Some(Ended { round: NEW, ..ended(true, 0, 0..4) });
        all.others.insert(2, Status { round: ahead, ..status(true, before) });
        assert!(all.all_are_through() && !all.all_are_here());
    }

    #[test]
    fn what_nobody_receives_any_more_the_first_newcomer_takes_over() {
        let newcomer = |id: u64| {
            let mut all = three();
            (all.own_id, all.own) = (id, status(true, Some(ended(false, 0, 0..0))));
            all.others = [1, 2, 3].map(|id| (id, status(true, Some(ended(false, 0, 0..0))))).into();
            all.others.insert(1, status(false, Some(ended(true, 5, 0..0))));
            all.others.remove(&id);
            all
        };
        assert!(newcomer(2).takes_over(OLD) && !newcomer(3).takes_over(OLD));
        let mut all = newcomer(2);
        all.others.insert(3, status(true, Some(ended(true, 0, 0..1))));
        assert!(!all.takes_over(OLD), "there is one with a part");
        assert_eq!(three().receivers(), 0);
        assert!(!three().takes_over(OLD), "no receiver");
    }
}
