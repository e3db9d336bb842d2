//! Putting messages in order, without I/O.

use bertha_core::guarantee::{Reliable, Set};
use std::collections::{BTreeMap, VecDeque};

/// How much is kept, and when a message is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// How many messages of all groups are kept before their turn.
    pub(super) capacity: usize,
    /// After how many later ones of its group a message is given up.
    pub(super) skip_after: Option<usize>,
}

impl Limits {
    /// What never gives a message up would wait for ever for one that is lost.
    pub(super) fn needs(self) -> Set {
        match self.skip_after {
            None => Set::of::<Reliable>(),
            Some(_) => Set::NONE,
        }
    }
}

/// Messages of all groups that arrived.
#[derive(Debug)]
pub(super) struct Sequence<T> {
    groups: Box<[Group<T>]>,
    /// Those whose turn it is, in the order in which it came.
    ready: VecDeque<T>,
    /// How many are kept before their turn.
    early: usize,
    limits: Limits,
    /// How many were dropped: they came again, or after they were given up.
    pub(super) dropped: u64,
}

#[derive(Debug)]
struct Group<T> {
    next: u64,
    /// Those that came before their turn. A map, since they are few at most times.
    early: BTreeMap<u64, Option<T>>,
}

/// There is no room for another message that came before its turn, and none that can be given up.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Full {
    /// The message that all wait for.
    pub(super) missing: u64,
}

impl<T> Sequence<T> {
    pub(super) fn new(groups: u16, limits: Limits) -> Self {
        let groups = (0..groups).map(|_| Group { next: 0, early: BTreeMap::new() }).collect();
        Self { groups, ready: VecDeque::new(), early: 0, limits, dropped: 0 }
    }

    /// Takes message `number` of `group`, or word that it will never come. One of no group is dropped.
    ///
    /// # Errors
    /// [`Full`], and the message is dropped.
    pub(super) fn insert(&mut self, group: u16, number: u64, message: Option<T>) -> Result<(), Full> {
        let Some(place) = self.groups.get_mut(usize::from(group)) else {
            self.dropped += 1;
            return Ok(());
        };
        if number == place.next {
            place.next += 1;
            self.ready.extend(message);
            self.follow(group);
            return Ok(());
        }
        if number < place.next || place.early.contains_key(&number) {
            self.dropped += 1;
            return Ok(());
        }
        if self.early >= self.limits.capacity && self.limits.skip_after.is_none() {
            return Err(Full { missing: place.next });
        }
        place.early.insert(number, message);
        self.early += 1;
        let is_given_up = self.limits.skip_after.is_some_and(|most| place.early.len() >= most.max(1));
        if is_given_up || self.early > self.limits.capacity {
            place.next = place.early.keys().next().copied().unwrap_or(place.next);
            self.follow(group);
        }
        Ok(())
    }

    /// Moves on those whose turn has come behind the last.
    fn follow(&mut self, group: u16) {
        let place = &mut self.groups[usize::from(group)];
        while let Some(message) = place.early.remove(&place.next) {
            place.next += 1;
            self.early -= 1;
            self.ready.extend(message);
        }
    }

    /// The next message whose turn it is.
    pub(super) fn pop(&mut self) -> Option<T> {
        self.ready.pop_front()
    }

    /// Whether another one's turn it is.
    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STRICT: Limits = Limits { capacity: 100, skip_after: None };

    fn drain<T>(sequence: &mut Sequence<T>) -> Vec<T> {
        std::iter::from_fn(|| sequence.pop()).collect()
    }

    #[test]
    fn a_gap_holds_up_its_own_group_only() {
        let mut sequence = Sequence::new(2, STRICT);
        sequence.insert(0, 1, Some("b")).unwrap();
        sequence.insert(1, 0, Some("x")).unwrap();
        sequence.insert(9, 0, Some("of no group")).unwrap();
        assert_eq!(drain(&mut sequence), ["x"]);
        sequence.insert(0, 0, Some("a")).unwrap();
        sequence.insert(0, 0, Some("a again")).unwrap();
        assert_eq!(drain(&mut sequence), ["a", "b"]);
        assert_eq!((sequence.dropped, sequence.early), (2, 0));
    }

    #[test]
    fn a_full_buffer_is_an_error_unless_messages_can_be_given_up() {
        let mut sequence = Sequence::new(1, Limits { capacity: 2, skip_after: None });
        sequence.insert(0, 1, Some(1)).unwrap();
        sequence.insert(0, 2, Some(2)).unwrap();
        assert_eq!(sequence.insert(0, 3, Some(3)), Err(Full { missing: 0 }));

        let mut sequence = Sequence::new(1, Limits { capacity: 9, skip_after: Some(2) });
        sequence.insert(0, 1, Some(1)).unwrap();
        assert_eq!(drain(&mut sequence), []);
        sequence.insert(0, 3, Some(3)).unwrap();
        assert_eq!(drain(&mut sequence), [1]);
        sequence.insert(0, 0, Some(0)).unwrap();
        sequence.insert(0, 2, Some(2)).unwrap();
        assert_eq!(drain(&mut sequence), [2, 3]);
        assert_eq!(sequence.dropped, 1);
    }

    #[test]
    fn what_never_comes_is_not_waited_for() {
        let mut sequence = Sequence::new(1, STRICT);
        sequence.insert(0, 1, None).unwrap();
        sequence.insert(0, 2, Some("c")).unwrap();
        sequence.insert(0, 0, Some("a")).unwrap();
        assert_eq!(drain(&mut sequence), ["a", "c"]);
    }

    proptest! {
        #[test]
        fn any_order_becomes_the_right_one(
            order in Just(Vec::from_iter(0..60_u64)).prop_shuffle(),
            again in prop::collection::vec(0..60_usize, 0..20),
        ) {
            let mut sequence = Sequence::new(1, STRICT);
            let mut got = Vec::new();
            for number in order.iter().copied().chain(again.iter().map(|at| order[*at])) {
                sequence.insert(0, number, Some(number)).unwrap();
                got.extend(drain(&mut sequence));
            }
            prop_assert_eq!(got, Vec::from_iter(0..60));
            prop_assert_eq!(sequence.dropped, again.len() as u64);
        }

        #[test]
        fn with_loss_what_comes_is_in_order_and_bounded(
            numbers in prop::collection::vec(0..80_u64, 0..200),
            skip in 1..9_usize,
        ) {
            let mut sequence = Sequence::new(1, Limits { capacity: 5, skip_after: Some(skip) });
            let mut got = Vec::new();
            for number in numbers {
                sequence.insert(0, number, Some(number)).unwrap();
                got.extend(drain(&mut sequence));
                prop_assert!(sequence.early <= 5.min(skip));
            }
            prop_assert!(got.windows(2).all(|two| two[0] < two[1]));
        }
    }
}
