//! A queue of calls in which parties have turns.

use bertha_managed::Party;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Items about calls, those of each party in the order of its calls. The parties have turns, so that one with few items does not stand behind
/// all of another. An item leaves the queue before its turn if it is needed no more.
#[derive(Debug)]
pub(crate) struct FairQueue<T> {
    /// The items of the parties with turns, by calls. A party whose items were all taken out has none until its turn.
    items: HashMap<Party, BTreeMap<u64, T>>,
    /// The parties, the next one first.
    turns: VecDeque<Party>,
    /// Number of items.
    count: usize,
}

impl<T> FairQueue<T> {
    pub(crate) fn new() -> Self {
        Self { items: HashMap::new(), turns: VecDeque::new(), count: 0 }
    }

    /// Adds the item of a call, in place of one that it has.
    pub(crate) fn push(&mut self, call: u64, item: T) {
        let party = Party::of(call);
        let items = match self.items.entry(party) {
            Entry::Occupied(items) => items.into_mut(),
            Entry::Vacant(entry) => {
                self.turns.push_back(party);
                entry.insert(BTreeMap::new())
            }
        };
        self.count += usize::from(items.insert(call, item).is_none());
    }

    pub(crate) fn pop(&mut self) -> Option<T> {
        loop {
            let party = self.turns.pop_front()?;
            let items = self.items.get_mut(&party)?;
            let item = items.pop_first();
            if items.is_empty() {
                self.items.remove(&party);
            } else {
                self.turns.push_back(party);
            }
            if let Some((_, item)) = item {
                self.count -= 1;
                return Some(item);
            }
        }
    }

    /// Takes the item of a call out.
    pub(crate) fn take(&mut self, call: u64) -> Option<T> {
        let item = self.items.get_mut(&Party::of(call))?.remove(&call)?;
        self.count -= 1;
        Some(item)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(queue: &mut FairQueue<(u16, u64)>, party: u16, numbers: impl IntoIterator<Item = u64>) {
        numbers.into_iter().for_each(|number| queue.push(Party(party).call(number), (party, number)));
    }

    #[test]
    fn parties_have_turns_and_the_items_of_each_stay_in_order() {
        let mut queue = FairQueue::new();
        push(&mut queue, 0, 0..1000);
        push(&mut queue, 1, 0..2);
        let first: Vec<_> = std::iter::from_fn(|| queue.pop()).take(5).collect();
        assert_eq!(first, [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2)]);
        push(&mut queue, 1, [2]);
        assert_eq!([queue.pop(), queue.pop()], [Some((0, 3)), Some((1, 2))]);
        assert_eq!(std::iter::from_fn(|| queue.pop()).count(), 996);
        assert!(queue.is_empty() && queue.items.is_empty());
    }

    #[test]
    fn a_party_whose_items_come_and_are_taken_out_has_one_turn() {
        let mut queue = FairQueue::new();
        for number in 0..1000 {
            push(&mut queue, 0, [number]);
            assert_eq!(queue.take(Party(0).call(number)), Some((0, number)));
            assert_eq!(queue.take(Party(0).call(number)), None);
        }
        assert!(queue.is_empty() && queue.turns.len() == 1);
        push(&mut queue, 1, [0, 1]);
        push(&mut queue, 0, [1000, 1001]);
        let all: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(all, [(0, 1000), (1, 0), (0, 1001), (1, 1)]);
        push(&mut queue, 0, [1002]);
        assert!(queue.take(Party(0).call(1002)).is_some());
        assert_eq!(queue.pop(), None);
        assert!(queue.is_empty() && queue.items.is_empty() && queue.turns.is_empty());
    }
}
