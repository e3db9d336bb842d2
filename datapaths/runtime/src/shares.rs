//! Places that several parties share.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;

/// Returns true if a party that has so many places gets another, where so many of all are free. A party with some has no more than it leaves
/// free, and the last eighth is for those without any.
pub fn gets_another(has: usize, free: usize, all: usize) -> bool {
    match has {
        0 => free > 0,
        _ => has + 1 < free && free > all / 8,
    }
}

/// Places, of which a party has no more than it leaves free: half of them while it is alone, and less the more others have. A party
/// without any gets one as long as there is one, and the last eighth is for such parties alone: many who have some keep no newcomer out.
#[derive(Debug)]
pub struct Shares<P> {
    free: usize,
    all: usize,
    taken: HashMap<P, usize>,
}

impl<P: Hash + Eq> Shares<P> {
    /// Makes so many places, which are free.
    pub fn new(places: usize) -> Self {
        Self { free: places, all: places, taken: HashMap::new() }
    }

    /// Takes a place for a party. Returns false if there is none for it.
    pub fn take(&mut self, party: P) -> bool {
        if !gets_another(self.of(&party), self.free, self.all) {
            return false;
        }
        *self.taken.entry(party).or_default() += 1;
        self.free -= 1;
        true
    }

    /// Gives a place of a party back.
    pub fn give_back(&mut self, party: P) {
        if let Entry::Occupied(mut taken) = self.taken.entry(party) {
            self.free += 1;
            match *taken.get() {
                1 => drop(taken.remove()),
                _ => *taken.get_mut() -= 1,
            }
        }
    }

    /// Returns the number of places that a party has.
    pub fn of(&self, party: &P) -> usize {
        self.taken.get(party).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes as many places for a party as it gets.
    fn fill(shares: &mut Shares<u32>, party: u32) -> usize {
        while shares.take(party) {}
        shares.of(&party)
    }

    #[test]
    fn a_party_that_is_alone_has_half_and_leaves_something_to_each_that_comes() {
        let mut shares = Shares::new(1024);
        let parts: Vec<_> = (0..131).map(|party| fill(&mut shares, party)).collect();
        assert_eq!(parts[..4], [512, 256, 128, 1]);
        assert!(parts[4..].iter().all(|part| *part == 1), "{parts:?}");
        assert_eq!(fill(&mut shares, 131), 0, "all places are taken");
    }

    #[test]
    fn parties_without_number_that_have_some_leave_places_to_newcomers() {
        let mut shares = Shares::new(1024);
        for _ in 0..10 {
            (0..900).for_each(|party| _ = shares.take(party));
        }
        assert!((900..1024).all(|newcomer| shares.take(newcomer)));
    }

    #[test]
    fn what_is_given_back_is_there_for_others_first() {
        let mut shares = Shares::new(8);
        assert_eq!((fill(&mut shares, 0), fill(&mut shares, 1), fill(&mut shares, 2)), (4, 2, 1));
        shares.give_back(0);
        assert!(!shares.take(0) && !shares.take(1) && shares.take(3));
        (0..3).for_each(|_| shares.give_back(0));
        shares.give_back(9);
        assert_eq!((shares.of(&0), fill(&mut shares, 4)), (0, 2));
    }
}
