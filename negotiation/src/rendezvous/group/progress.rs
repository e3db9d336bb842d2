//! The progress of this participant and of the other participants in a change of rounds, without I/O.

use super::round_id::RoundId;
use crate::wire::{Before, PeerProgress};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Maximum number of participants in the table that the store has not shown yet.
const MAX_STRANGERS: usize = 512;

/// Number of times that progress is repeated, after pauses that double.
const REPETITIONS: u32 = 6;

/// The first pause between repetitions.
const PAUSE: Duration = Duration::from_millis(10);

/// The round of a participant that has left.
const LEFT: u64 = u64::MAX;

/// Time for which a participant that has gone is remembered.
const MEMORY: Duration = Duration::from_secs(60);

/// The messages of the old round that another participant still has to deliver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    /// The participant has not reported its number yet.
    Unknown,
    /// The number of messages that the participant has sent in total.
    Sent(u32),
    /// Any messages that arrive until then: the participant has gone.
    Until(Instant),
}

/// The table, shared by the agent and its steps.
#[derive(Clone)]
pub(super) struct SharedProgress(Arc<Mutex<ProgressTable>>);

impl SharedProgress {
    pub(super) fn new(table: ProgressTable) -> Self {
        Self(Arc::new(Mutex::new(table)))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, ProgressTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The progress of this participant and of the others.
pub(super) struct ProgressTable {
    own: PeerProgress,
    known: BTreeMap<u64, PeerProgress>,
    /// The ids of all participants.
    present: Vec<u64>,
    /// Participants that have gone, each with the time at which this was seen.
    gone: BTreeMap<u64, Instant>,
    /// The time at which this participant's progress is sent next, and the number of times that it was sent
    /// since it changed.
    send_at: Option<Instant>,
    times_sent: u32,
}

fn round_of(progress: &PeerProgress) -> RoundId {
    RoundId { life: progress.life, number: progress.round }
}

impl ProgressTable {
    /// Makes the table of a participant that sends in `round` now.
    pub(super) fn new(now: Instant, own_id: u64, round: RoundId) -> Self {
        let RoundId { life, number: round } = round;
        let own = PeerProgress { sender: own_id, life, round, before: None, asks: false };
        let (known, gone) = Default::default();
        Self { own, known, present: vec![own_id], gone, send_at: Some(now), times_sent: 0 }
    }

    /// This participant's progress, if it is due to be sent.
    pub(super) fn poll(&mut self, now: Instant) -> Option<PeerProgress> {
        self.send_at.take_if(|at| *at <= now)?;
        self.send_at = (self.times_sent < REPETITIONS).then(|| now + PAUSE * (1 << self.times_sent));
        self.times_sent += 1;
        Some(self.own.clone())
    }

    /// Returns the time for the next call of [`poll`](Self::poll).
    pub(super) fn next_time(&self) -> Option<Instant> {
        self.send_at
    }

    /// Returns the round in which this participant sends.
    pub(super) fn round(&self) -> RoundId {
        round_of(&self.own)
    }

    /// Returns this participant's progress, as a question to the other participants.
    pub(super) fn question(&self) -> PeerProgress {
        PeerProgress { asks: true, ..self.own.clone() }
    }

    fn has_changed(&mut self, now: Instant) {
        (self.send_at, self.times_sent) = (Some(now), 0);
    }

    /// Records that this participant leaves, and sends nothing more.
    pub(super) fn leave(&mut self, now: Instant, sent: u32) -> PeerProgress {
        self.begin(now, RoundId { number: LEFT, ..self.round() });
        self.finish(now, sent);
        self.own.clone()
    }

    /// Gives this participant another id.
    pub(super) fn rename(&mut self, now: Instant, own_id: u64) {
        self.own.sender = own_id;
        self.has_changed(now);
    }

    /// Records that this participant sends in `round` from now on.
    pub(super) fn begin(&mut self, now: Instant, round: RoundId) {
        let before = Before { life: self.own.life, round: self.own.round, sent: None };
        (self.own.life, self.own.round) = (round.life, round.number);
        self.own.before = Some(before);
        self.has_changed(now);
    }

    /// Records that this participant sends nothing more in the round before.
    pub(super) fn finish(&mut self, now: Instant, sent: u32) {
        if let Some(before) = &mut self.own.before {
            before.sent = Some(sent);
        }
        self.has_changed(now);
    }

    /// Sets the participants that are there. Forgets and returns participants that have gone so long ago that
    /// no message of them is expected.
    pub(super) fn set_present(&mut self, now: Instant, ids: &[u64]) -> Vec<u64> {
        let left = self.present.iter().filter(|id| !ids.contains(id));
        self.gone.extend(left.map(|id| (*id, now)));
        // A single reading of the store may have omitted a participant that is there.
        self.gone.retain(|id, _| !ids.contains(id));
        let is_over = |since: &Instant| now.saturating_duration_since(*since) >= MEMORY;
        let forgotten: Vec<u64> =
            self.gone.iter().filter(|(_, since)| is_over(since)).map(|(id, _)| *id).collect();
        self.gone.retain(|_, since| !is_over(since));
        self.present = ids.to_vec();
        let gone = &self.gone;
        self.known.retain(|id, progress| !gone.contains_key(id) || has_left(progress));
        forgotten
    }

    /// Handles the progress of another participant.
    pub(super) fn on_progress(&mut self, now: Instant, progress: PeerProgress) {
        let is_gone = self.gone.contains_key(&progress.sender) && !has_left(&progress);
        if progress.sender == self.own.sender || is_gone {
            return;
        }
        if progress.asks {
            // The answer is sent at once, in place of the next repetition.
            self.send_at = Some(now);
        }
        if !self.known.contains_key(&progress.sender) && !self.is_known(progress.sender) {
            let strangers = self.known.keys().filter(|id| !self.is_known(**id)).count();
            if strangers >= MAX_STRANGERS {
                // Some strangers may never become participants; a stranger that does will repeat its
                // progress.
                let Self { known, present, gone, .. } = self;
                known.retain(|id, _| present.contains(id) || gone.contains_key(id));
            }
        }
        let newest = self.known.entry(progress.sender).or_insert_with(|| progress.clone());
        if !is_later(newest, &progress) {
            *newest = progress;
        }
    }

    /// Returns true if the store shows, or has shown, a participant to be there.
    fn is_known(&self, id: u64) -> bool {
        self.present.contains(&id) || self.gone.contains_key(&id)
    }

    fn others(&self) -> impl Iterator<Item = u64> {
        self.present.iter().copied().filter(|id| *id != self.own.sender)
    }

    /// Returns the other participants that still send in `from`, or have not reported that they send in `to`
    /// or a later round.
    pub(super) fn behind(&self, from: RoundId, to: RoundId) -> impl Iterator<Item = u64> {
        self.others().filter(move |id| !self.known.get(id).is_some_and(|it| has_moved(it, from, to)))
    }

    /// Returns the rest that each sender of the round `from` still has to deliver there. Messages under way
    /// from senders that have gone get the time `grace`.
    pub(super) fn rest(&self, from: RoundId, to: RoundId, grace: Duration) -> Vec<(u64, Rest)> {
        let rest = |id: u64| match self.known.get(&id) {
            Some(progress) if has_moved(progress, from, to) => match &progress.before {
                Some(before) if (before.life, before.round) == (from.life, from.number) => {
                    before.sent.map_or(Some(Rest::Unknown), |sent| Some(Rest::Sent(sent)))
                }
                _ => None,
            },
            _ => Some(Rest::Unknown),
        };
        let others = self.others().filter_map(|id| Some((id, rest(id)?)));
        // A participant that left in good order has reported the number of its messages.
        let gone = self.gone.iter().filter_map(|(id, since)| match rest(*id)? {
            Rest::Unknown => Some((*id, Rest::Until(*since + grace))),
            rest => Some((*id, rest)),
        });
        others.chain(gone).collect()
    }
}

fn has_left(progress: &PeerProgress) -> bool {
    progress.round == LEFT
}

/// Returns true if a participant sends in `to` or later, as seen by a participant that changes from `from` to
/// `to`.
fn has_moved(progress: &PeerProgress, from: RoundId, to: RoundId) -> bool {
    let now = round_of(progress);
    if now.life == to.life {
        now.number >= to.number
    } else {
        now.life == from.life && now.number > from.number
    }
}

/// Returns true if `known` is newer than `other`, which arrived late.
fn is_later(known: &PeerProgress, other: &PeerProgress) -> bool {
    if known.life != other.life {
        // Lives have no order; the progress received last is the best guess.
        return false;
    }
    let sent = |progress: &PeerProgress| progress.before.as_ref().and_then(|before| before.sent).is_some();
    (known.round, sent(known)) > (other.round, sent(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: RoundId = RoundId { life: 1, number: 4 };
    const NEW: RoundId = RoundId { life: 1, number: 6 };
    const GRACE: Duration = Duration::from_millis(100);

    fn progress(sender: u64, round: RoundId, before: Option<(RoundId, Option<u32>)>) -> PeerProgress {
        let before = before.map(|(it, sent)| Before { life: it.life, round: it.number, sent });
        PeerProgress { sender, life: round.life, round: round.number, before, asks: false }
    }

    fn three() -> (ProgressTable, Instant) {
        let now = Instant::now();
        let mut table = ProgressTable::new(now, 1, OLD);
        table.set_present(now, &[1, 2, 3]);
        (table, now)
    }

    #[test]
    fn everyone_who_is_there_is_waited_for() {
        let (mut table, now) = three();
        assert_eq!(table.behind(OLD, NEW).collect::<Vec<_>>(), [2, 3]);
        table.on_progress(now, progress(2, NEW, Some((OLD, None))));
        assert_eq!(table.behind(OLD, NEW).collect::<Vec<_>>(), [3]);
        assert_eq!(table.rest(OLD, NEW, GRACE), [(2, Rest::Unknown), (3, Rest::Unknown)]);
        table.on_progress(now, progress(2, NEW, Some((OLD, Some(9)))));
        // This progress arrives late.
        table.on_progress(now, progress(2, NEW, Some((OLD, None))));
        table.set_present(now, &[1, 2]);
        assert_eq!(table.behind(OLD, NEW).count(), 0);
        assert_eq!(table.rest(OLD, NEW, GRACE), [(2, Rest::Sent(9)), (3, Rest::Until(now + GRACE))]);
    }

    #[test]
    fn who_left_in_good_order_has_said_how_many_messages_there_were() {
        let (mut table, now) = three();
        let mut leaver = ProgressTable::new(now, 2, OLD);
        let last = leaver.leave(now, 5);
        table.set_present(now, &[1, 3]);
        table.on_progress(now, progress(2, OLD, None));
        assert_eq!(table.rest(OLD, NEW, GRACE)[1], (2, Rest::Until(now + GRACE)));
        table.on_progress(now, last);
        assert_eq!(table.rest(OLD, NEW, GRACE)[1], (2, Rest::Sent(5)));
        table.set_present(now, &[1]);
        let later = RoundId { life: 1, number: 8 };
        assert_eq!(table.rest(NEW, later, GRACE), [(3, Rest::Until(now + GRACE))]);
    }

    #[test]
    fn who_was_left_out_of_one_reading_of_the_store_is_heard_and_counted_as_before() {
        let (mut table, now) = three();
        table.set_present(now, &[1, 2]);
        table.set_present(now, &[1, 2, 3]);
        for id in [2, 3] {
            table.on_progress(now, progress(id, NEW, Some((OLD, Some(9)))));
        }
        assert_eq!(table.behind(OLD, NEW).count(), 0);
        assert_eq!(table.rest(OLD, NEW, GRACE), [(2, Rest::Sent(9)), (3, Rest::Sent(9))]);
        assert_eq!(table.set_present(now + MEMORY, &[1, 2, 3]), []);
    }

    /// A participant that vanished is not heard any more, whatever it or an impostor reports: it
    /// would be waited for without end, or not at all.
    #[test]
    fn who_has_gone_without_a_word_is_not_heard_any_more() {
        let (mut table, now) = three();
        table.on_progress(now, progress(3, NEW, Some((OLD, Some(9)))));
        table.set_present(now, &[1, 2]);
        assert_eq!(table.rest(OLD, NEW, GRACE)[1], (3, Rest::Until(now + GRACE)));
        for claim in [progress(3, NEW, Some((OLD, Some(1_000)))), progress(3, NEW, None)] {
            table.on_progress(now, claim);
            assert_eq!(table.rest(OLD, NEW, GRACE)[1], (3, Rest::Until(now + GRACE)));
        }
        let question = PeerProgress { asks: true, ..progress(3, OLD, None) };
        while table.poll(now).is_some() {}
        table.on_progress(now, question);
        assert_eq!(table.poll(now), None);
    }

    /// Progress in the name of this participant has no effect on it.
    #[test]
    fn nobody_speaks_to_a_participant_in_its_own_name() {
        let (mut table, now) = three();
        while table.poll(now).is_some() {}
        table.on_progress(now, PeerProgress { asks: true, ..progress(1, NEW, Some((OLD, Some(5)))) });
        assert_eq!((table.poll(now), table.round()), (None, OLD));
        assert!(!table.known.contains_key(&1));
    }

    /// The room is bounded however many names an attacker invents.
    #[test]
    fn strangers_take_bounded_room_and_keep_no_participant_out() {
        let (mut table, now) = three();
        for id in 0..4 * MAX_STRANGERS as u64 {
            table.on_progress(now, progress(10 + id, NEW, None));
            assert!(table.known.len() <= MAX_STRANGERS + 2, "{}", table.known.len());
        }
        for id in [2, 3] {
            table.on_progress(now, progress(id, NEW, None));
        }
        assert_eq!(table.behind(OLD, NEW).count(), 0);
    }

    #[test]
    fn a_newcomer_has_sent_nothing_in_the_old_round() {
        let (mut table, now) = three();
        table.on_progress(now, progress(2, NEW, None));
        table.on_progress(now, progress(3, RoundId { life: 1, number: 7 }, Some((NEW, Some(3)))));
        assert_eq!(table.behind(OLD, NEW).count(), 0);
        assert_eq!(table.rest(OLD, NEW, GRACE), []);
    }

    #[test]
    fn what_was_heard_before_the_store_lost_its_data_is_not_taken_for_later() {
        let (mut table, now) = three();
        let after = RoundId { life: 9, number: 5 };
        table.on_progress(now, progress(2, OLD, None));
        table.on_progress(now, progress(3, RoundId { life: 1, number: 3 }, None));
        assert_eq!(table.behind(OLD, after).collect::<Vec<_>>(), [2, 3]);
        table.on_progress(now, progress(2, after, Some((OLD, Some(1)))));
        table.on_progress(now, progress(3, NEW, None));
        assert_eq!(table.behind(OLD, after).count(), 0);
        assert_eq!(table.rest(OLD, after, GRACE), [(2, Rest::Sent(1))]);
    }

    #[test]
    fn however_many_come_and_go_the_next_one_is_heard_and_the_others_are_forgotten() {
        let (mut table, mut now) = three();
        let mut forgotten = 0;
        for id in 10..3_000 {
            // Some participants were never there, as far as the store has shown; some leave in good order,
            // and some vanish.
            table.on_progress(now, progress(10_000 + id, NEW, None));
            forgotten += table.set_present(now, &[1, 2, 3, id, 20_000 + id]).len();
            table.on_progress(now, progress(id, RoundId { number: LEFT, ..NEW }, Some((NEW, Some(1)))));
            table.on_progress(now, progress(20_000 + id, NEW, None));
            now += Duration::from_secs(1);
        }
        assert!(forgotten > 5_000);
        table.on_progress(now, progress(7, NEW, Some((OLD, Some(3)))));
        table.set_present(now, &[1, 7]);
        assert_eq!(table.behind(OLD, NEW).count(), 0);
        assert!(table.known.len() <= MAX_STRANGERS + 2 * 60 + 3, "{}", table.known.len());
    }

    #[test]
    fn a_standing_is_said_again_a_few_times_and_when_somebody_asks() {
        let (mut table, mut now) = three();
        let mut times_sent = 0;
        while let Some(next) = table.next_time() {
            now = next.max(now);
            times_sent += u32::from(table.poll(now).is_some());
        }
        assert_eq!(times_sent, REPETITIONS + 1);
        let question = PeerProgress { asks: true, ..progress(2, OLD, None) };
        table.on_progress(now, PeerProgress { sender: 1, ..question.clone() });
        assert_eq!(table.poll(now), None, "its own question");
        table.on_progress(now, question);
        assert_eq!(table.poll(now), Some(progress(1, OLD, None)));
        table.begin(now, NEW);
        table.finish(now, 5);
        assert_eq!(table.poll(now), Some(progress(1, NEW, Some((OLD, Some(5))))));
    }
}
