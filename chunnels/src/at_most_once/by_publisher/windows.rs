//! The numbers that were seen of each publisher, without I/O.

use super::MessageId;
use bertha_core::replay_window::ReplayWindow;
use std::collections::BTreeMap;

/// At least the newest 65,473 numbers of a publisher, in 8 KiB.
type Window = ReplayWindow<1024>;

/// A window for each publisher that was heard last.
#[derive(Debug)]
pub(super) struct Windows {
    publishers: BTreeMap<u64, Heard>,
    capacity: usize,
    /// A running count of messages.
    time: u64,
}

#[derive(Debug)]
struct Heard {
    window: Box<Window>,
    /// The time of the publisher's last message.
    last: u64,
}

impl Windows {
    pub(super) fn new(capacity: usize) -> Self {
        Self { publishers: BTreeMap::new(), capacity: capacity.max(1), time: 0 }
    }

    /// Returns the number of publishers that are remembered.
    pub(super) fn len(&self) -> usize {
        self.publishers.len()
    }

    /// Notes a message. Returns true if it is the first time, as far as that is known.
    pub(super) fn insert(&mut self, id: MessageId) -> bool {
        self.time += 1;
        if !self.publishers.contains_key(&id.publisher) && self.publishers.len() >= self.capacity {
            let silent = self.publishers.iter().min_by_key(|(_, heard)| heard.last).map(|(id, _)| *id);
            silent.and_then(|silent| self.publishers.remove(&silent));
        }
        let begin = || Heard { window: Box::default(), last: 0 };
        let heard = self.publishers.entry(id.publisher).or_insert_with(begin);
        heard.last = self.time;
        heard.window.insert(id.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(publisher: u64, number: u64) -> MessageId {
        MessageId { publisher, number }
    }

    #[test]
    fn each_publisher_has_numbers_of_its_own() {
        let mut windows = Windows::new(9);
        // A receiver that shares messages with other receivers sees some of the numbers, from any number on.
        let ids = [id(1, 1 << 40), id(2, 1 << 40), id(1, 7 + (1 << 40)), id(1, 3 + (1 << 40))];
        assert!(ids.iter().all(|id| windows.insert(*id)));
        assert!(ids.iter().all(|id| !windows.insert(*id)));
        assert!(windows.insert(id(1, (1 << 40) - 60_000)), "late, and within the window");
    }

    #[test]
    fn who_was_silent_for_longest_is_forgotten() {
        let mut windows = Windows::new(2);
        assert!(windows.insert(id(1, 5)) && windows.insert(id(2, 5)) && windows.insert(id(1, 6)));
        assert!(windows.insert(id(3, 5)));
        assert!(!windows.insert(id(1, 5)) && !windows.insert(id(3, 5)));
        assert!(windows.insert(id(2, 5)) && windows.publishers.len() == 2);
    }
}
