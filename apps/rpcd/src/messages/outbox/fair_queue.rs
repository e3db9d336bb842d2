//! A queue in which parties have turns.

use bertha_managed::Party;
use std::collections::{HashMap, VecDeque};

/// Items in the order in which they came from each party. The parties have turns, so that one with few items does not stand behind all of
/// another.
#[derive(Debug)]
pub(crate) struct FairQueue<T> {
    items: HashMap<Party, VecDeque<T>>,
    /// The parties with items, the next one first.
    turns: VecDeque<Party>,
}

impl<T> FairQueue<T> {
    pub(crate) fn new() -> Self {
        Self { items: HashMap::new(), turns: VecDeque::new() }
    }

    pub(crate) fn push(&mut self, party: Party, item: T) {
        let items = self.items.entry(party).or_default();
        if items.is_empty() {
            self.turns.push_back(party);
        }
        items.push_back(item);
    }

    pub(crate) fn pop(&mut self) -> Option<T> {
        let party = self.turns.pop_front()?;
        let items = self.items.get_mut(&party)?;
        let item = items.pop_front();
        if items.is_empty() {
            self.items.remove(&party);
        } else {
            self.turns.push_back(party);
        }
        item
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parties_have_turns_and_the_items_of_each_stay_in_order() {
        let mut queue = FairQueue::new();
        (0..1000).for_each(|number| queue.push(Party(0), (0, number)));
        (0..2).for_each(|number| queue.push(Party(1), (1, number)));
        let first: Vec<_> = std::iter::from_fn(|| queue.pop()).take(5).collect();
        assert_eq!(first, [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2)]);
        queue.push(Party(1), (1, 2));
        assert_eq!([queue.pop(), queue.pop()], [Some((0, 3)), Some((1, 2))]);
        assert_eq!(std::iter::from_fn(|| queue.pop()).count(), 996);
        assert!(queue.is_empty() && queue.items.is_empty());
    }
}
