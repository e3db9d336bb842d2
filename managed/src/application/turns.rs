//! The order in which the calls of a server begin, without I/O.

use crate::{Party, Shares};
use std::collections::{HashMap, VecDeque};

/// Maximum number of calls that are under way at once.
const UNDER_WAY: usize = 1024;

/// Number of calls that begin before the runtime has its turn with them.
const TURN: usize = 64;

/// Calls that begin or wait. At most 64 begin in a turn, and the others wait by party, so that a party with few calls stands not behind all
/// calls of another. A call is `C`.
#[derive(Debug)]
pub(super) struct Turns<C> {
    /// Parties share the places of calls under way: one whose calls never end leaves some to others.
    places: Shares<Party>,
    /// The calls that wait, in the order in which they came.
    waiting: HashMap<Party, VecDeque<C>>,
    /// Number of calls that have begun in this turn, and have not ended.
    begun: usize,
}

impl<C> Turns<C> {
    pub(super) fn new() -> Self {
        Self { places: Shares::new(UNDER_WAY), waiting: HashMap::new(), begun: 0 }
    }

    /// Returns a call that has come if it begins; otherwise it waits.
    pub(super) fn come(&mut self, party: Party, call: C) -> Option<C> {
        if self.is_over() || self.waiting.contains_key(&party) || !self.places.take(party) {
            self.waiting.entry(party).or_default().push_back(call);
            return None;
        }
        self.begun += 1;
        Some(call)
    }

    /// Returns true if the runtime is to have its turn before further calls begin.
    pub(super) fn is_over(&self) -> bool {
        self.begun >= TURN
    }

    /// Begins the next turn.
    pub(super) fn renew(&mut self) {
        self.begun = 0;
    }

    /// Notes that a call has ended.
    pub(super) fn end(&mut self, party: Party) {
        self.begun = self.begun.saturating_sub(1);
        self.places.give_back(party);
    }

    /// Takes the next call that begins: of the waiting parties, the one with the fewest calls under way comes first.
    pub(super) fn next(&mut self) -> Option<C> {
        let party = *self.waiting.keys().min_by_key(|party| self.places.of(party))?;
        if self.is_over() || !self.places.take(party) {
            return None;
        }
        self.begun += 1;
        let waiting = self.waiting.get_mut(&party)?;
        let next = waiting.pop_front();
        if waiting.is_empty() {
            self.waiting.remove(&party);
        }
        next
    }

    /// Drops the waiting calls of a party that are not wanted.
    pub(super) fn retain(&mut self, party: Party, is_wanted: impl FnMut(&C) -> bool) {
        if let Some(waiting) = self.waiting.get_mut(&party) {
            waiting.retain(is_wanted);
            if waiting.is_empty() {
                self.waiting.remove(&party);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;

    const FLOOD: Party = Party(0);
    const HONEST: Party = Party(1);

    #[test]
    fn a_party_with_few_calls_stands_not_behind_all_of_another() {
        let mut turns = Turns::new();
        let mut under_way: VecDeque<_> = (0..4000).filter_map(|_| turns.come(FLOOD, FLOOD)).collect();
        assert_eq!(under_way.len(), TURN);
        assert!((0..64).all(|_| turns.come(HONEST, HONEST).is_none()), "the turn is over");
        let (mut floods, mut honest) = (0, 0);
        while honest < 64 {
            // All calls of the turn end.
            for party in under_way.drain(..) {
                turns.end(party);
                *if party == FLOOD { &mut floods } else { &mut honest } += 1;
            }
            turns.renew();
            under_way.extend(std::iter::from_fn(|| turns.next()));
        }
        assert!(floods <= 3 * TURN, "{floods} before");
    }

    #[test]
    fn calls_that_last_keep_no_others_from_beginning() {
        let mut turns = Turns::new();
        let mut begun = (0..1000).filter_map(|call| turns.come(FLOOD, call)).count();
        for _ in 0..20 {
            turns.renew();
            begun += std::iter::from_fn(|| turns.next()).count();
        }
        assert_eq!(begun, UNDER_WAY / 2, "a party leaves as many places as it has");
        assert_eq!(turns.come(HONEST, 0), Some(0));
        (0..2).for_each(|_| turns.end(FLOOD));
        assert!(turns.next().is_some_and(|call| call == 512), "a party's calls begin in order");
    }

    #[test]
    fn waiting_calls_that_are_not_wanted_are_dropped() {
        let mut turns = Turns::new();
        (0..TURN + 2).for_each(|call| _ = turns.come(FLOOD, call));
        turns.retain(HONEST, |_| false);
        turns.retain(FLOOD, |call| *call != TURN);
        turns.renew();
        assert_eq!((turns.next(), turns.next()), (Some(TURN + 1), None));
        turns.renew();
        assert_eq!(turns.come(FLOOD, 0), Some(0), "none waits any more");
    }
}
