//! How far each participant is in a change of rounds where messages are shared, without I/O.
//!
//! Over a topic of a messaging service a message reaches one of the receivers, not all of them. So nobody can tell from what it receives
//! whether all of a round has arrived, and nobody is heard over the group. Participants say in the store how far they are: each has
//! one [`Status`] there, under the connection's name and `.statuses`.
//!
//! # The argument
//!
//! 1. **A round has members that are fixed before its first message.** A participant has a part in a round if it has staged it, or has made
//!    the record of which it is the first. A newcomer has none in the round that it finds in force: it neither sends nor receives, and
//!    proposes the next. So a stack whose order stands at a single receiver never gets a second one, and never a second publisher with
//!    numbers of its own, within a round. A stack that needs every message below it is refused for a round with senders and several
//!    receivers.
//! 2. **A change lets the old round run empty before the new one has a message.** At its commit each publisher ends its sends and says which
//!    messages it has sent, as a [`Tally`]; sends in the new round wait. Receivers read on in the old round, and say what their
//!    applications have received and dropped, which is when the service forgets it. When both sums are equal, the old round is empty, and
//!    receivers go on in the new one. Publishers send in it once all participants are that far. So no receiver ever meets a message of a
//!    round that it does not know, nothing overtakes the change, within a key nothing is swapped, and a participant that is killed after the
//!    change takes nothing of the old round with it. The price: a change takes as long as the slowest application holds a message.
//! 3. **Repetitions** of a message at one receiver count once. One that arrives while the message is still held here is not handed on, and is dropped with it: its
//!    acknowledgement may be that of both. If the service repeats one at another receiver, the sums differ for good. As long as
//!    they differ, and if somebody vanished, whose sums nobody knows, the change waits until nothing new has arrived anywhere for the service's time of
//!    redelivery and [`drain_timeout`](crate::RendezvousSettings::drain_timeout): what the vanished one held has come to others then.
//! 4. **A participant that leaves** gives back what its application has not dropped, and says what it has: these are its share, the rest arrives elsewhere.
//!    It does so in the middle of a change, too, since its application receives no more.
//! 5. **A round whose receivers have all gone** is taken over by one newcomer, that with the smallest id. It has built the old stack, without the
//!    state of its predecessors, and gets what the service delivers again and what nobody has received yet. A stack that waits for what was
//!    received before keeps the rest back; so here what has arrived counts, and the stack lets it go, in order, when the round ends. Without a receiver no round ends: participants
//!    refuse changes as long as messages wait for one.
//! 6. **A message of another round** that arrives in spite of all that, after a time-out or of participants that have all gone, can't be
//!    decoded. It is kept and not acknowledged, and so stays at the service.
//!
//! A participant that the store takes for gone and that is not has no part any more, from the next commit on: its sends that wait then fail,
//! and it proposes a round to have one again.

use super::round_id::RoundId;
use super::tally::Tally;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A participant's report about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Status {
    /// The newest round that it is in.
    pub(super) round: RoundId,
    /// Whether it sends and receives there.
    pub(super) has_part: bool,
    pub(super) sends: bool,
    pub(super) receives: bool,
    /// The round that it was in before, until the change is over.
    pub(super) before: Option<Ended>,
    /// Whether it has left in good order.
    pub(super) has_left: bool,
}

/// A participant's share of a round in which it sends no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ended {
    pub(super) round: RoundId,
    pub(super) had_part: bool,
    pub(super) sent: Tally,
    /// The messages of which it says that nobody else will get them.
    pub(super) taken: Tally,
    /// Whether it waits for nothing of that round any more.
    pub(super) is_over: bool,
}

/// The statuses of all, as far as the store has shown them.
#[derive(Debug)]
pub(super) struct Statuses {
    pub(super) own_id: u64,
    pub(super) own: Status,
    /// Whether the store has the own one.
    pub(super) is_published: bool,
    pub(super) others: BTreeMap<u64, Status>,
    /// All participants; nobody until they are known.
    pub(super) present: Vec<u64>,
}

/// Where a change is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Others have not begun it.
    Behind,
    /// Messages of the old round are missing, or it can't be known that none is: so many are taken.
    Open(Tally),
    /// All of it is taken.
    Complete,
}

impl Statuses {
    pub(super) fn new(own_id: u64, own: Status) -> Self {
        Self { own_id, own, is_published: false, others: BTreeMap::new(), present: Vec::new() }
    }

    fn is_present(&self, id: u64) -> bool {
        self.present.contains(&id)
    }

    /// All but this one that are there; without a status if it is not known yet.
    fn peers(&self) -> impl Iterator<Item = (u64, Option<&Status>)> {
        let others = self.present.iter().filter(|id| **id != self.own_id);
        others.map(|id| (*id, self.others.get(id)))
    }

    /// Those that have gone, and have left a status.
    fn gone(&self) -> impl Iterator<Item = &Status> {
        self.others.iter().filter(|(id, _)| !self.is_present(**id)).map(|(_, status)| status)
    }

    /// Changes the own status.
    pub(super) fn change(&mut self, change: impl FnOnce(&mut Status)) -> bool {
        let before = self.own;
        change(&mut self.own);
        let has_changed = self.own != before;
        self.is_published &= !has_changed;
        has_changed
    }

    /// This participant sends in `to` from now on, and has sent these in the round before.
    pub(super) fn begin(&mut self, to: RoundId, has_part: bool, sent: Tally, taken: Tally) {
        self.change(|own| {
            let (round, had_part) = (own.round, own.has_part);
            own.before = Some(Ended { round, had_part, sent, taken, is_over: false });
            (own.round, own.has_part) = (to, has_part);
        });
    }

    /// Where the change from the round `from` is.
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
        // Of these nobody knows what they have sent, nor what they have received.
        let has_vanished = all.iter().any(|status| status.round == from && status.has_part);
        if sent == taken && !has_vanished { Stage::Complete } else { Stage::Open(taken) }
    }

    /// Whether some other participant has changed from `from` as well, so that there may be messages of it.
    pub(super) fn is_common(&self, from: RoundId) -> bool {
        let is_of = |status: &Status| {
            status.round == from || status.before.is_some_and(|before| before.round == from)
        };
        self.peers().filter_map(|(_, status)| status).chain(self.gone()).any(is_of)
    }

    /// Whether this participant, a receiver without a part in the round `from`, has to take over what is left there.
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

    /// The number of receivers that are there.
    pub(super) fn receivers(&self) -> usize {
        self.all_present().filter(|status| status.receives).count()
    }

    /// The number of receivers that share messages, if there are any to share: without a sender a round stays empty.
    pub(super) fn competing(&self) -> usize {
        if self.all_present().any(|status| status.sends) { self.receivers() } else { 0 }
    }

    fn all_present(&self) -> impl Iterator<Item = &Status> {
        self.peers().filter_map(|(_, status)| status).chain([&self.own])
    }

    /// Whether all are through the change to the round that this one is in, and none is further.
    fn all_are_here(&self) -> bool {
        let is_through = |status: &Status| {
            status.round == self.own.round && status.before.is_none_or(|before| before.is_over)
        };
        let own = self.is_published && self.is_present(self.own_id) && is_through(&self.own);
        own && self.peers().all(|(_, peer)| peer.is_some_and(is_through))
    }

    /// Whether all are through the change to the round that this one is in. One that has begun the next change was.
    pub(super) fn all_are_through(&self) -> bool {
        let is_through = |status: &Status| match status.round == self.own.round {
            true => status.before.is_none_or(|before| before.is_over),
            false => status.round.life == self.own.round.life && status.round.number > self.own.round.number,
        };
        let own = self.is_published && self.is_present(self.own_id) && is_through(&self.own);
        own && self.peers().all(|(_, peer)| peer.is_some_and(is_through))
    }

    /// The participants whose statuses say nothing more to anybody: they have gone, and their last round is over for all.
    pub(super) fn forgettable(&self) -> Vec<u64> {
        if !self.all_are_here() {
            return Vec::new();
        }
        let is_over = |status: &Status| status.round != self.own.round && !self.is_of_now(status);
        let gone = self.others.iter().filter(|(id, _)| !self.is_present(**id));
        gone.filter(|(_, status)| is_over(status)).map(|(id, _)| *id).collect()
    }

    /// Whether a participant that has gone was in the round in force.
    fn is_of_now(&self, status: &Status) -> bool {
        status.before.is_some_and(|before| before.round == self.own.round)
    }

    /// Whether a participant that has gone has sent messages in the round `from` that may still wait for a receiver.
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

    /// Publisher 1, which asks, and receivers 2 and 3.
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
        // One that is ahead has been through this change, and others may still need what those that have gone have said.
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
