//! The messages that a receiver was given from its partitions, and the messages among them that are done.
//! Without I/O.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The partitions that a receiver has at this moment.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    partitions: HashMap<i32, Partition>,
    /// Number of partitions that were ever assigned, by which a partition that is assigned again is told
    /// apart.
    assigned: u64,
}

#[derive(Debug)]
struct Partition {
    assignment: u64,
    /// The offsets of messages that were given out and not acknowledged, with the number of times that each
    /// was given out.
    open: BTreeMap<i64, u32>,
    /// Offsets of acknowledged messages behind an open message. After a step back these messages are read
    /// again.
    done: BTreeSet<i64>,
    /// Offset behind the last message that was given out; `None` before the first message.
    end: Option<i64>,
    /// Offset of the message that arrived last. Offsets grow, except behind a step back, and in a topic that was deleted and made again,
    /// whose offsets begin at zero.
    last: Option<i64>,
    /// The place of a step back whose messages have not arrived yet.
    step_back: Option<i64>,
    /// The number of steps back that the client has been asked for and has not made yet. Meanwhile messages may arrive from before a step
    /// and from behind it, so nothing is concluded from their order.
    steps: u32,
    /// The group's committed offset, as far as it is known here.
    committed: i64,
}

impl Partition {
    fn new(assignment: u64) -> Self {
        let open = BTreeMap::new();
        let done = BTreeSet::new();
        Self { assignment, open, done, end: None, last: None, step_back: None, steps: 0, committed: -1 }
    }
}

/// A message that was given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Given {
    partition: i32,
    offset: i64,
    assignment: u64,
    delivery: u32,
}

/// A place in a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) partition: i32,
    pub(crate) offset: i64,
}

impl Ledger {
    /// Adds a partition, which belongs to this receiver from now on.
    pub(crate) fn assign(&mut self, partition: i32) {
        self.assigned += 1;
        self.partitions.insert(partition, Partition::new(self.assigned));
    }

    /// Removes a partition, which belongs to another receiver from now on. Messages that were given out of it
    /// don't count any more.
    pub(crate) fn revoke(&mut self, partition: i32) {
        self.partitions.remove(&partition);
    }

    /// Records a message that is about to be given out. Returns `None` if it is done, or belongs to no
    /// partition of this receiver. A message whose offset lies behind that of an earlier message, without a step back, is of a new log: then
    /// nothing that is known of the old log counts any more.
    pub(crate) fn give(&mut self, partition: i32, offset: i64) -> Option<Given> {
        let found = self.partitions.get_mut(&partition)?;
        let is_behind = found.steps == 0 && found.last.is_some_and(|last| offset <= last);
        if is_behind && found.step_back.take_if(|place| *place <= offset).is_none() {
            self.assigned += 1;
            *found = Partition::new(self.assigned);
        }
        found.last = Some(offset);
        let end = found.end.get_or_insert(offset);
        if offset < *end && !found.open.contains_key(&offset) {
            return None;
        }
        *end = (*end).max(offset + 1);
        let delivery = found.open.entry(offset).or_default();
        *delivery += 1;
        Some(Given { partition, offset, assignment: found.assignment, delivery: *delivery })
    }

    /// Records that messages are done. Returns the places up to which everything is done, if they are not
    /// committed yet.
    pub(crate) fn acknowledge(&mut self, given: impl IntoIterator<Item = Given>) -> Vec<Place> {
        let mut touched = BTreeSet::new();
        for Given { partition, offset, assignment, .. } in given {
            let found = self.partitions.get_mut(&partition).filter(|found| found.assignment == assignment);
            let Some(found) = found else { continue };
            if found.open.remove(&offset).is_some() {
                found.done.insert(offset);
            }
            touched.insert(partition);
        }
        let places = touched.into_iter().filter_map(|partition| {
            let found = self.partitions.get_mut(&partition)?;
            let offset = found.open.first_key_value().map_or(found.end, |(first, _)| Some(*first))?;
            found.done = found.done.split_off(&offset);
            (offset > found.committed).then_some(Place { partition, offset })
        });
        places.collect()
    }

    /// Records that the group knows these places.
    pub(crate) fn on_committed(&mut self, places: &[Place]) {
        for place in places {
            if let Some(found) = self.partitions.get_mut(&place.partition) {
                found.committed = found.committed.max(place.offset);
            }
        }
    }

    /// Returns the places to read on from, so that messages that were given back are given out again;
    /// [`on_stepped_back`](Self::on_stepped_back) has to follow the attempt. A message that was given out again meanwhile belongs to another receiver.
    pub(crate) fn give_back(&mut self, given: impl IntoIterator<Item = Given>) -> Vec<Place> {
        let mut first: BTreeMap<i32, i64> = BTreeMap::new();
        for Given { partition, offset, assignment, delivery } in given {
            let found = self.partitions.get_mut(&partition).filter(|found| found.assignment == assignment);
            if let Some(found) = found.filter(|found| found.open.get(&offset) == Some(&delivery)) {
                // The client has stepped back before the message, and comes to it by itself. A step to it would leave out
                // what lies between, and may have been given back, too.
                if found.steps == 0
                    && found.step_back.is_none()
                    && found.last.is_some_and(|last| last < offset)
                {
                    continue;
                }
                // An earlier step back, whose messages have not arrived yet, would be undone by a later place.
                let place = found.step_back.map_or(offset, |before| before.min(offset));
                found.step_back = Some(place);
                if first.insert(partition, place).is_none() {
                    found.steps += 1;
                }
            }
        }
        first.into_iter().map(|(partition, offset)| Place { partition, offset }).collect()
    }

    /// Records that the client has made these steps back, or has failed to.
    pub(crate) fn on_stepped_back(&mut self, places: &[Place]) {
        for place in places {
            if let Some(found) = self.partitions.get_mut(&place.partition) {
                found.steps = found.steps.saturating_sub(1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(partition: i32, offset: i64) -> Place {
        Place { partition, offset }
    }

    /// Returns a ledger that has given out the messages 5 to 7 of a partition.
    fn busy() -> (Ledger, Vec<Given>) {
        let mut ledger = Ledger::default();
        ledger.assign(0);
        let given = (5..8).map(|offset| ledger.give(0, offset).unwrap()).collect();
        (ledger, given)
    }

    #[test]
    fn nothing_is_committed_past_an_open_message() {
        let (mut ledger, given) = busy();
        assert_eq!(ledger.acknowledge([given[1]]), [place(0, 5)]);
        ledger.on_committed(&[place(0, 5)]);
        assert_eq!(ledger.acknowledge([given[2]]), []);
        assert_eq!(ledger.acknowledge([given[0]]), [place(0, 8)]);
    }

    #[test]
    fn a_commit_that_failed_is_asked_for_again() {
        let (mut ledger, given) = busy();
        assert_eq!(ledger.acknowledge(given.clone()), [place(0, 8)]);
        assert_eq!(ledger.acknowledge(given.clone()), [place(0, 8)]);
        ledger.on_committed(&[place(0, 8)]);
        assert_eq!(ledger.acknowledge(given), []);
    }

    #[test]
    fn acknowledgements_of_a_partition_that_was_lost_count_no_more() {
        let (mut ledger, given) = busy();
        ledger.revoke(0);
        assert_eq!(ledger.acknowledge(given.clone()), []);
        ledger.assign(0);
        ledger.give(0, 5).unwrap();
        assert_eq!(ledger.acknowledge(given.clone()), []);
        assert_eq!(ledger.give_back(given), []);
        assert_eq!(ledger.give(1, 5), None);
    }

    #[test]
    fn what_was_given_back_comes_again_and_what_is_done_does_not() {
        let (mut ledger, given) = busy();
        ledger.acknowledge([given[1]]);
        assert_eq!(ledger.give_back([given[2], given[0]]), [place(0, 5)]);
        let again = ledger.give(0, 5).unwrap();
        assert_eq!(ledger.give(0, 6), None);
        let last = ledger.give(0, 7).unwrap();
        // The first receipts are old by now, but an acknowledged message stays acknowledged.
        assert_eq!(ledger.give_back([given[0]]), []);
        assert_eq!(ledger.acknowledge([given[0], last]), [place(0, 8)]);
        assert_eq!(ledger.acknowledge([again]), [place(0, 8)]);
    }

    #[test]
    fn a_topic_that_was_made_again_is_a_new_log() {
        let (mut ledger, given) = busy();
        let places = ledger.acknowledge(given.clone());
        ledger.on_committed(&places);
        let first = ledger.give(0, 0).unwrap();
        let second = ledger.give(0, 1).unwrap();
        assert_eq!(ledger.acknowledge([first]), [place(0, 1)], "the commit of the old log does not count");
        assert_eq!(ledger.acknowledge(given.clone()), [], "nor does an acknowledgement");
        assert_eq!(ledger.give_back(given), []);
        assert_eq!(ledger.acknowledge([second]), [place(0, 2)]);
    }

    #[test]
    fn a_topic_that_is_made_again_behind_a_step_back_is_a_new_log() {
        let (mut ledger, given) = busy();
        assert_eq!(ledger.give_back([given[1]]), [place(0, 6)]);
        ledger.on_stepped_back(&[place(0, 6)]);
        assert!(ledger.give(0, 6).is_some() && ledger.give(0, 7).is_some());
        let next = ledger.give(0, 8).unwrap();
        assert_eq!(ledger.give_back([next]), [place(0, 8)]);
        ledger.on_stepped_back(&[place(0, 8)]);
        assert_eq!(ledger.give(0, 8).map(|given| given.delivery), Some(2));
        assert_eq!(ledger.give(0, 0).map(|given| given.delivery), Some(1));
    }

    /// Messages that the client had fetched before a step back arrive first.
    #[test]
    fn a_step_back_is_no_new_log_whatever_arrives_first() {
        let (mut ledger, given) = busy();
        assert_eq!(ledger.acknowledge([given[1]]), [place(0, 5)]);
        assert_eq!(ledger.give_back([given[0]]), [place(0, 5)]);
        assert_eq!(ledger.give_back([given[2]]), [place(0, 5)], "the earlier step back is not undone");
        assert!(ledger.give(0, 8).is_some(), "it was fetched before");
        // The first step is made, and messages behind it arrive before the second step, which leads to them again.
        ledger.on_stepped_back(&[place(0, 5)]);
        assert_eq!(ledger.give(0, 5).map(|given| given.delivery), Some(2));
        assert_eq!(ledger.give(0, 6), None, "it is done");
        ledger.on_stepped_back(&[place(0, 5)]);
        assert_eq!(ledger.give(0, 5).map(|given| given.delivery), Some(3));
        assert_eq!(ledger.give(0, 6), None, "it is done");
        assert_eq!(ledger.give(0, 7).map(|given| given.delivery), Some(2));
        assert_eq!(ledger.give(0, 8).map(|given| given.delivery), Some(2));
    }

    #[test]
    fn no_step_leads_past_a_message_that_was_given_back_and_has_not_come_again() {
        let (mut ledger, given) = busy();
        let later = ledger.give(0, 8).unwrap();
        assert_eq!(ledger.give_back([given[0], given[2]]), [place(0, 5)]);
        ledger.on_stepped_back(&[place(0, 5)]);
        assert!(ledger.give(0, 5).is_some());
        assert_eq!(ledger.give_back([later]), [], "the client comes to it by itself");
        let again: Vec<_> = (6..9).map(|offset| ledger.give(0, offset).unwrap().delivery).collect();
        assert_eq!(again, [2, 2, 2]);
    }

    #[test]
    fn the_first_place_of_messages_that_were_given_back_counts() {
        let (mut ledger, given) = busy();
        ledger.assign(1);
        let other = ledger.give(1, 3).unwrap();
        assert_eq!(ledger.give_back([given[1], other, given[2]]), [place(0, 6), place(1, 3)]);
    }
}
