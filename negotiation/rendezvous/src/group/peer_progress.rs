//! What is known of where the others stand, without I/O.

use super::round::RoundId;
use bertha_negotiation::wire::{Before, Standing};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How many participants' standings are kept that the store has not shown to be there yet.
const STRANGERS: usize = 512;

/// How often a standing is said again, after pauses that double.
const REPETITIONS: u32 = 6;

/// The first of these pauses.
const PAUSE: Duration = Duration::from_millis(10);

/// The round of those who have left.
const LEFT: u64 = u64::MAX;

/// For how long a participant that has gone is remembered.
const MEMORY: Duration = Duration::from_secs(60);

/// What has to come of the old round from one of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    /// It has not said yet.
    Unknown,
    /// So many messages in all.
    Sent(u32),
    /// Whatever comes until then: it has gone.
    Until(Instant),
}

/// Where this participant stands and where the others do.
pub(super) struct Standings {
    own: Standing,
    heard: BTreeMap<u64, Standing>,
    /// Everyone who is there.
    present: Vec<u64>,
    /// Who has gone, and when that was seen.
    gone: BTreeMap<u64, Instant>,
    /// When the own standing is said next, and how often it was since it changed.
    say_at: Option<Instant>,
    said: u32,
}

fn round_of(standing: &Standing) -> RoundId {
    RoundId { life: standing.life, number: standing.round }
}

impl Standings {
    /// A participant that sends in `round` now.
    pub(super) fn new(now: Instant, own_id: u64, round: RoundId) -> Self {
        let RoundId { life, number: round } = round;
        let own = Standing { sender: own_id, life, round, before: None, asks: false };
        let (heard, gone) = Default::default();
        Self { own, heard, present: vec![own_id], gone, say_at: Some(now), said: 0 }
    }

    /// Where this participant stands, if it is time to say it.
    pub(super) fn poll(&mut self, now: Instant) -> Option<Standing> {
        self.say_at.take_if(|at| *at <= now)?;
        self.say_at = (self.said < REPETITIONS).then(|| now + PAUSE * (1 << self.said));
        self.said += 1;
        Some(self.own.clone())
    }

    /// When to look again.
    pub(super) fn next_time(&self) -> Option<Instant> {
        self.say_at
    }

    /// The round in which this participant sends.
    pub(super) fn round(&self) -> RoundId {
        round_of(&self.own)
    }

    /// Where this participant stands, as a question to the others.
    pub(super) fn question(&self) -> Standing {
        Standing { asks: true, ..self.own.clone() }
    }

    fn has_changed(&mut self, now: Instant) {
        (self.say_at, self.said) = (Some(now), 0);
    }

    /// This participant has left, and sends nothing more.
    pub(super) fn left(&mut self, now: Instant, sent: u32) -> Standing {
        self.moved(now, RoundId { number: LEFT, ..self.round() });
        self.finished(now, sent);
        self.own.clone()
    }

    /// This participant has another id from now on.
    pub(super) fn rename(&mut self, now: Instant, own_id: u64) {
        self.own.sender = own_id;
        self.has_changed(now);
    }

    /// This participant sends in `round` from now on.
    pub(super) fn moved(&mut self, now: Instant, round: RoundId) {
        let before = Before { life: self.own.life, round: self.own.round, sent: None };
        (self.own.life, self.own.round) = (round.life, round.number);
        self.own.before = Some(before);
        self.has_changed(now);
    }

    /// It sends nothing more in the round before.
    pub(super) fn finished(&mut self, now: Instant, sent: u32) {
        if let Some(before) = &mut self.own.before {
            before.sent = Some(sent);
        }
        self.has_changed(now);
    }

    /// These participants are there. Who has gone so long ago that nothing comes of it any more, and is forgotten.
    pub(super) fn present(&mut self, now: Instant, ids: &[u64]) -> Vec<u64> {
        let left = self.present.iter().filter(|id| !ids.contains(id));
        self.gone.extend(left.map(|id| (*id, now)));
        // A reading of the store may have left somebody out who is there.
        self.gone.retain(|id, _| !ids.contains(id));
        let is_over = |since: &Instant| now.saturating_duration_since(*since) >= MEMORY;
        let forgotten: Vec<u64> =
            self.gone.iter().filter(|(_, since)| is_over(since)).map(|(id, _)| *id).collect();
        self.gone.retain(|_, since| !is_over(since));
        self.present = ids.to_vec();
        let gone = &self.gone;
        self.heard.retain(|id, standing| !gone.contains_key(id) || has_left(standing));
        forgotten
    }

    /// What one of the others says.
    pub(super) fn hear(&mut self, now: Instant, standing: Standing) {
        let is_gone = self.gone.contains_key(&standing.sender) && !has_left(&standing);
        if standing.sender == self.own.sender || is_gone {
            return;
        }
        if standing.asks {
            // At once; what was to be said later is said with it.
            self.say_at = Some(now);
        }
        if !self.heard.contains_key(&standing.sender) && !self.is_known(standing.sender) {
            let strangers = self.heard.keys().filter(|id| !self.is_known(**id)).count();
            if strangers >= STRANGERS {
                // Some may never have been there. Who will be says it again.
                let Self { heard, present, gone, .. } = self;
                heard.retain(|id, _| present.contains(id) || gone.contains_key(id));
            }
        }
        let newest = self.heard.entry(standing.sender).or_insert_with(|| standing.clone());
        if !is_later(newest, &standing) {
            *newest = standing;
        }
    }

    /// Whether the store has shown a participant to be there, or to have been there.
    fn is_known(&self, id: u64) -> bool {
        self.present.contains(&id) || self.gone.contains_key(&id)
    }

    fn others(&self) -> impl Iterator<Item = u64> {
        self.present.iter().copied().filter(|id| *id != self.own.sender)
    }

    /// Who of the others still sends in `from`, or has not said that it sends in `to` or a later round.
    pub(super) fn behind(&self, from: RoundId, to: RoundId) -> impl Iterator<Item = u64> {
        self.others().filter(move |id| !self.heard.get(id).is_some_and(|it| has_moved(it, from, to)))
    }

    /// What each of those that sent in `from` has still to deliver there; who has gone gets some time for what is under way.
    pub(super) fn rest(&self, from: RoundId, to: RoundId, grace: Duration) -> Vec<(u64, Rest)> {
        let rest = |id: u64| match self.heard.get(&id) {
            Some(standing) if has_moved(standing, from, to) => match &standing.before {
                Some(before) if (before.life, before.round) == (from.life, from.number) => {
                    before.sent.map_or(Some(Rest::Unknown), |sent| Some(Rest::Sent(sent)))
                }
                _ => None,
            },
            _ => Some(Rest::Unknown),
        };
        let others = self.others().filter_map(|id| Some((id, rest(id)?)));
        // Who left in good order has said how many messages there were.
        let gone = self.gone.iter().filter_map(|(id, since)| match rest(*id)? {
            Rest::Unknown => Some((*id, Rest::Until(*since + grace))),
            rest => Some((*id, rest)),
        });
        others.chain(gone).collect()
    }
}

fn has_left(standing: &Standing) -> bool {
    standing.round == LEFT
}

/// Whether a participant sends in `to` or later, seen from one that changes from `from` to `to`.
fn has_moved(standing: &Standing, from: RoundId, to: RoundId) -> bool {
    let now = round_of(standing);
    if now.life == to.life {
        now.number >= to.number
    } else {
        now.life == from.life && now.number > from.number
    }
}

/// Whether `known` says more than `other`, which came late.
fn is_later(known: &Standing, other: &Standing) -> bool {
    if known.life != other.life {
        // Lives have no order; the latest heard is the best guess.
        return false;
    }
    let sent = |standing: &Standing| standing.before.as_ref().and_then(|before| before.sent).is_some();
    (known.round, sent(known)) > (other.round, sent(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: RoundId = RoundId { life: 1, number: 4 };
    const NEW: RoundId = RoundId { life: 1, number: 6 };
    const GRACE: Duration = Duration::from_millis(100);

    fn standing(sender: u64, round: RoundId, before: Option<(RoundId, Option<u32>)>) -> Standing {
        let before = before.map(|(it, sent)| Before { life: it.life, round: it.number, sent });
        Standing { sender, life: round.life, round: round.number, before, asks: false }
    }

    fn three() -> (Standings, Instant) {
        let now = Instant::now();
        let mut standings = Standings::new(now, 1, OLD);
        standings.present(now, &[1, 2, 3]);
        (standings, now)
    }

    #[test]
    fn everyone_who_is_there_is_waited_for() {
        let (mut standings, now) = three();
        assert_eq!(standings.behind(OLD, NEW).collect::<Vec<_>>(), [2, 3]);
        standings.hear(now, standing(2, NEW, Some((OLD, None))));
        assert_eq!(standings.behind(OLD, NEW).collect::<Vec<_>>(), [3]);
        assert_eq!(standings.rest(OLD, NEW, GRACE), [(2, Rest::Unknown), (3, Rest::Unknown)]);
        standings.hear(now, standing(2, NEW, Some((OLD, Some(9)))));
        // Late.
        standings.hear(now, standing(2, NEW, Some((OLD, None))));
        standings.present(now, &[1, 2]);
        assert_eq!(standings.behind(OLD, NEW).count(), 0);
        assert_eq!(standings.rest(OLD, NEW, GRACE), [(2, Rest::Sent(9)), (3, Rest::Until(now + GRACE))]);
    }

    #[test]
    fn who_left_in_good_order_has_said_how_many_messages_there_were() {
        let (mut standings, now) = three();
        let mut leaver = Standings::new(now, 2, OLD);
        let farewell = leaver.left(now, 5);
        standings.present(now, &[1, 3]);
        standings.hear(now, standing(2, OLD, None));
        assert_eq!(standings.rest(OLD, NEW, GRACE)[1], (2, Rest::Until(now + GRACE)));
        standings.hear(now, farewell);
        assert_eq!(standings.rest(OLD, NEW, GRACE)[1], (2, Rest::Sent(5)));
        standings.present(now, &[1]);
        let later = RoundId { life: 1, number: 8 };
        assert_eq!(standings.rest(NEW, later, GRACE), [(3, Rest::Until(now + GRACE))]);
    }

    #[test]
    fn who_was_left_out_of_one_reading_of_the_store_is_heard_and_counted_as_before() {
        let (mut standings, now) = three();
        standings.present(now, &[1, 2]);
        standings.present(now, &[1, 2, 3]);
        for id in [2, 3] {
            standings.hear(now, standing(id, NEW, Some((OLD, Some(9)))));
        }
        assert_eq!(standings.behind(OLD, NEW).count(), 0);
        assert_eq!(standings.rest(OLD, NEW, GRACE), [(2, Rest::Sent(9)), (3, Rest::Sent(9))]);
        assert_eq!(standings.present(now + MEMORY, &[1, 2, 3]), []);
    }

    #[test]
    fn a_newcomer_has_sent_nothing_in_the_old_round() {
        let (mut standings, now) = three();
        standings.hear(now, standing(2, NEW, None));
        standings.hear(now, standing(3, RoundId { life: 1, number: 7 }, Some((NEW, Some(3)))));
        assert_eq!(standings.behind(OLD, NEW).count(), 0);
        assert_eq!(standings.rest(OLD, NEW, GRACE), []);
    }

    #[test]
    fn what_was_heard_before_the_store_lost_its_data_is_not_taken_for_later() {
        let (mut standings, now) = three();
        let after = RoundId { life: 9, number: 5 };
        standings.hear(now, standing(2, OLD, None));
        standings.hear(now, standing(3, RoundId { life: 1, number: 3 }, None));
        assert_eq!(standings.behind(OLD, after).collect::<Vec<_>>(), [2, 3]);
        standings.hear(now, standing(2, after, Some((OLD, Some(1)))));
        standings.hear(now, standing(3, NEW, None));
        assert_eq!(standings.behind(OLD, after).count(), 0);
        assert_eq!(standings.rest(OLD, after, GRACE), [(2, Rest::Sent(1))]);
    }

    #[test]
    fn however_many_come_and_go_the_next_one_is_heard_and_the_others_are_forgotten() {
        let (mut standings, mut now) = three();
        let mut forgotten = 0;
        for id in 10..3_000 {
            // One was never there, as far as the store has shown; one leaves in good order, and one vanishes.
            standings.hear(now, standing(10_000 + id, NEW, None));
            forgotten += standings.present(now, &[1, 2, 3, id, 20_000 + id]).len();
            standings.hear(now, standing(id, RoundId { number: LEFT, ..NEW }, Some((NEW, Some(1)))));
            standings.hear(now, standing(20_000 + id, NEW, None));
            now += Duration::from_secs(1);
        }
        assert!(forgotten > 5_000);
        standings.hear(now, standing(7, NEW, Some((OLD, Some(3)))));
        standings.present(now, &[1, 7]);
        assert_eq!(standings.behind(OLD, NEW).count(), 0);
        assert!(standings.heard.len() <= STRANGERS + 2 * 60 + 3, "{}", standings.heard.len());
    }

    #[test]
    fn a_standing_is_said_again_a_few_times_and_when_somebody_asks() {
        let (mut standings, mut now) = three();
        let mut said = 0;
        while let Some(next) = standings.next_time() {
            now = next.max(now);
            said += u32::from(standings.poll(now).is_some());
        }
        assert_eq!(said, REPETITIONS + 1);
        let question = Standing { asks: true, ..standing(2, OLD, None) };
        standings.hear(now, Standing { sender: 1, ..question.clone() });
        assert_eq!(standings.poll(now), None, "its own question");
        standings.hear(now, question);
        assert_eq!(standings.poll(now), Some(standing(1, OLD, None)));
        standings.moved(now, NEW);
        standings.finished(now, 5);
        assert_eq!(standings.poll(now), Some(standing(1, NEW, Some((OLD, Some(5))))));
    }
}
