//! The reordering of messages, without I/O.

use super::statistics::HeldBack;
use bertha_core::DropCounter;
use bertha_core::guarantee::{Reliable, Set};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The size of the buffer, and the condition for skipping a missing message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OrderLimits {
    /// Maximum number of early messages that are buffered, in all groups together.
    pub(super) capacity: usize,
    /// The number of later messages of its group after which a missing message is skipped. A full
    /// buffer skips a missing message, too. With `None` no message is skipped, and a full buffer is an error.
    pub(super) skip_after: Option<usize>,
}

impl OrderLimits {
    /// Returns the needed guarantees: without skipping, the receiver would wait without end for a lost
    /// message.
    pub(super) fn needs(self) -> Set {
        match self.skip_after {
            None => Set::of::<Reliable>(),
            Some(_) => Set::NONE,
        }
    }
}

/// The messages of all groups that have arrived.
#[derive(Debug)]
pub(super) struct Sequence<T> {
    groups: Box<[Group<T>]>,
    /// Messages to deliver, in order.
    ready: VecDeque<T>,
    /// The number of early messages in all groups.
    early: Arc<HeldBack>,
    limits: OrderLimits,
    /// The number of messages dropped as duplicates, after they were skipped, or as messages of an unknown
    /// group. A repeated `None` counts, too.
    pub(super) dropped: DropCounter,
}

#[derive(Debug)]
struct Group<T> {
    next: u64,
    /// The early messages; `None` stands for a message that will never arrive. A map, since a group mostly
    /// has few early messages.
    early: BTreeMap<u64, Option<T>>,
}

/// The error for a full buffer of early messages, if no message may be skipped.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Full {
    /// The number of the missing message.
    pub(super) missing: u64,
}

impl<T> Sequence<T> {
    /// Makes an empty sequence, whose early messages the statistics show under this name.
    pub(super) fn new(name: &'static str, groups: u16, limits: OrderLimits) -> Self {
        let early = Arc::new(HeldBack::new(name, limits.capacity));
        let groups = (0..groups).map(|_| Group { next: 0, early: BTreeMap::new() }).collect();
        Self { groups, ready: VecDeque::new(), early, limits, dropped: DropCounter::default() }
    }

    /// Returns the number of early messages, as it is shared with the statistics.
    pub(super) fn early(&self) -> &Arc<HeldBack> {
        &self.early
    }

    /// Returns true if this message of a group has arrived before, or was skipped.
    pub(super) fn has_seen(&self, group_index: u16, number: u64) -> bool {
        let Some(group) = self.groups.get(usize::from(group_index)) else { return false };
        // The next message is the usual case.
        number != group.next && (number < group.next || group.early.contains_key(&number))
    }

    /// Handles a message that [`has_seen`](Self::has_seen) knows: delivers it if it is to be delivered again, and
    /// else counts it as a duplicate.
    pub(super) fn repeat(&mut self, returned: Option<T>) {
        self.dropped.add(u64::from(returned.is_none()));
        self.ready.extend(returned);
    }

    /// Inserts message `number` of a group, which has not been [seen](Self::has_seen); `None` says that the message will never arrive. A message of an
    /// unknown group is dropped.
    ///
    /// # Errors
    /// [`Full`]; the message is then dropped.
    pub(super) fn insert(&mut self, group_index: u16, number: u64, message: Option<T>) -> Result<(), Full> {
        let Some(group) = self.groups.get_mut(usize::from(group_index)) else {
            self.dropped.add(1);
            return Ok(());
        };
        if number == group.next {
            group.next += 1;
            self.ready.extend(message);
            self.advance(group_index);
            return Ok(());
        }
        let early_count = self.early.get() + 1;
        if early_count > self.limits.capacity && self.limits.skip_after.is_none() {
            return Err(Full { missing: group.next });
        }
        group.early.insert(number, message);
        self.early.set(early_count);
        let is_skipped = self.limits.skip_after.is_some_and(|later| group.early.len() >= later.max(1));
        if is_skipped || early_count > self.limits.capacity {
            group.next = group.early.keys().next().copied().unwrap_or(group.next);
            self.advance(group_index);
        }
        Ok(())
    }

    /// Makes the early messages ready that follow the last ready message.
    fn advance(&mut self, group_index: u16) {
        let group = &mut self.groups[usize::from(group_index)];
        while let Some(message) = group.early.remove(&group.next) {
            group.next += 1;
            self.early.set(self.early.get() - 1);
            self.ready.extend(message);
        }
    }

    /// Makes all early messages ready, in the order of each group, since no further message will arrive.
    pub(super) fn end(&mut self) {
        for group in &mut self.groups {
            let early = std::mem::take(&mut group.early);
            self.early.set(self.early.get() - early.len());
            if let Some(last) = early.keys().next_back() {
                group.next = last + 1;
            }
            self.ready.extend(early.into_values().flatten());
        }
    }

    /// Returns the next message to deliver.
    pub(super) fn pop(&mut self) -> Option<T> {
        self.ready.pop_front()
    }

    /// Returns true if there is a message to deliver.
    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STRICT: OrderLimits = OrderLimits { capacity: 100, skip_after: None };

    /// Inserts a message, unless it has been seen.
    fn insert<T>(
        sequence: &mut Sequence<T>,
        group: u16,
        number: u64,
        message: Option<T>,
    ) -> Result<(), Full> {
        if sequence.has_seen(group, number) {
            sequence.repeat(None);
            return Ok(());
        }
        sequence.insert(group, number, message)
    }

    fn drain<T>(sequence: &mut Sequence<T>) -> Vec<T> {
        std::iter::from_fn(|| sequence.pop()).collect()
    }

    #[test]
    fn a_gap_holds_up_its_own_group_only() {
        let mut sequence = Sequence::new("Ordered", 2, STRICT);
        insert(&mut sequence, 0, 1, Some("b")).unwrap();
        insert(&mut sequence, 1, 0, Some("x")).unwrap();
        insert(&mut sequence, 9, 0, Some("of no group")).unwrap();
        assert_eq!(drain(&mut sequence), ["x"]);
        insert(&mut sequence, 0, 0, Some("a")).unwrap();
        insert(&mut sequence, 0, 0, Some("a again")).unwrap();
        assert_eq!(drain(&mut sequence), ["a", "b"]);
        assert_eq!((sequence.dropped.get(), sequence.early().get()), (2, 0));
    }

    #[test]
    fn a_full_buffer_is_an_error_unless_messages_can_be_skipped() {
        let mut sequence = Sequence::new("Ordered", 1, OrderLimits { capacity: 2, skip_after: None });
        insert(&mut sequence, 0, 1, Some(1)).unwrap();
        insert(&mut sequence, 0, 2, Some(2)).unwrap();
        assert_eq!(insert(&mut sequence, 0, 3, Some(3)), Err(Full { missing: 0 }));

        let mut sequence = Sequence::new("Ordered", 1, OrderLimits { capacity: 9, skip_after: Some(2) });
        insert(&mut sequence, 0, 1, Some(1)).unwrap();
        assert_eq!(drain(&mut sequence), [0_i32; 0]);
        insert(&mut sequence, 0, 3, Some(3)).unwrap();
        assert_eq!(drain(&mut sequence), [1]);
        insert(&mut sequence, 0, 0, Some(0)).unwrap();
        insert(&mut sequence, 0, 2, Some(2)).unwrap();
        assert_eq!(drain(&mut sequence), [2, 3]);
        assert_eq!(sequence.dropped.get(), 1);
    }

    #[test]
    fn at_the_end_what_is_there_is_in_order() {
        let mut sequence = Sequence::new("Ordered", 2, STRICT);
        for (group, number, text) in [(0, 5, "f"), (0, 2, "c"), (1, 1, "y"), (0, 0, "a")] {
            insert(&mut sequence, group, number, Some(text)).unwrap();
        }
        sequence.end();
        assert_eq!(drain(&mut sequence), ["a", "c", "f", "y"]);
        assert_eq!((sequence.early().get(), sequence.has_ready()), (0, false));
    }

    #[test]
    fn what_never_comes_is_not_waited_for() {
        let mut sequence = Sequence::new("Ordered", 1, STRICT);
        insert(&mut sequence, 0, 1, None).unwrap();
        insert(&mut sequence, 0, 2, Some("c")).unwrap();
        insert(&mut sequence, 0, 0, Some("a")).unwrap();
        assert_eq!(drain(&mut sequence), ["a", "c"]);
    }

    proptest! {
        #[test]
        fn any_order_becomes_the_right_one(
            order in Just(Vec::from_iter(0..60_u64)).prop_shuffle(),
            again in prop::collection::vec(0..60_usize, 0..20),
        ) {
            let mut sequence = Sequence::new("Ordered", 1, STRICT);
            let mut got = Vec::new();
            for number in order.iter().copied().chain(again.iter().map(|at| order[*at])) {
                insert(&mut sequence, 0, number, Some(number)).unwrap();
                got.extend(drain(&mut sequence));
            }
            prop_assert_eq!(got, Vec::from_iter(0..60));
            prop_assert_eq!(sequence.dropped.get(), again.len() as u64);
        }

        #[test]
        fn with_loss_what_comes_is_in_order_and_bounded(
            numbers in prop::collection::vec(0..80_u64, 0..200),
            skip in 1..9_usize,
        ) {
            let mut sequence = Sequence::new("Ordered", 1, OrderLimits { capacity: 5, skip_after: Some(skip) });
            let mut got = Vec::new();
            for number in numbers {
                insert(&mut sequence, 0, number, Some(number)).unwrap();
                got.extend(drain(&mut sequence));
                prop_assert!(sequence.early().get() <= 5.min(skip));
            }
            prop_assert!(got.windows(2).all(|two| two[0] < two[1]));
        }
    }
}
