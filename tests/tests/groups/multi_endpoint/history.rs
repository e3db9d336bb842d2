//! The messages that each participant sent and received, and checks of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// A message: its sender, and its number among the sender's messages.
pub(crate) type Message = (u32, u32);

/// Number of bytes of a message.
pub(crate) const LEN: usize = 8;

pub(crate) fn to_bytes((sender, number): Message) -> [u8; LEN] {
    let mut bytes = [0; LEN];
    bytes[..4].copy_from_slice(&sender.to_le_bytes());
    bytes[4..].copy_from_slice(&number.to_le_bytes());
    bytes
}

pub(crate) fn of_bytes(bytes: &[u8]) -> Message {
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!(bytes.len(), LEN, "a message that nobody sent");
    (number(0), number(4))
}

/// The life of one participant.
#[derive(Debug, Default, Clone)]
pub(crate) struct Record {
    /// Number of messages that the participant has sent.
    pub(crate) sent: u32,
    /// True if the participant left or crashed before the end.
    pub(crate) is_gone: bool,
    pub(crate) received: Vec<Message>,
}

#[derive(Clone, Default)]
pub(crate) struct History(Arc<Mutex<BTreeMap<u32, Record>>>);

impl History {
    pub(crate) fn change<T>(&self, participant: u32, change: impl FnOnce(&mut Record) -> T) -> T {
        change(self.0.lock().unwrap().entry(participant).or_default())
    }

    pub(crate) fn records(&self) -> BTreeMap<u32, Record> {
        self.0.lock().unwrap().clone()
    }

    /// Returns the numbers of each sender's messages, in the order in which a participant received them.
    fn by_sender(record: &Record) -> BTreeMap<u32, Vec<u32>> {
        let mut by_sender: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (sender, number) in &record.received {
            by_sender.entry(*sender).or_default().push(*number);
        }
        by_sender
    }

    /// Checks that each participant got all messages of a sender after the first that it got, once and in
    /// order.
    pub(crate) fn has_no_gaps(&self) {
        let records = self.records();
        for (receiver, record) in &records {
            for (sender, numbers) in Self::by_sender(record) {
                let wrong = numbers.windows(2).find(|two| two[1] != two[0] + 1);
                assert_eq!(wrong, None, "{receiver} received from {sender}, {} in all", numbers.len());
                let sent = records[&sender].sent;
                assert!(*numbers.last().unwrap() < sent, "{receiver} received what {sender} has not sent");
            }
        }
    }

    /// Checks that each participant got messages of a sender in order and at most once. Gaps are permitted.
    pub(crate) fn is_in_order(&self) {
        for (receiver, record) in self.records() {
            for (sender, numbers) in Self::by_sender(&record) {
                let wrong = numbers.windows(2).find(|two| two[1] <= two[0]);
                assert_eq!(wrong, None, "{receiver} received from {sender}, {} in all", numbers.len());
            }
        }
    }

    /// Checks that each participant that stayed to the end got the last message of each other participant
    /// that stayed.
    pub(crate) fn is_complete(&self) {
        let records = self.records();
        let stayed = || records.iter().filter(|(_, record)| !record.is_gone);
        for (receiver, record) in stayed() {
            let by_sender = Self::by_sender(record);
            for (sender, other) in stayed().filter(|(sender, other)| *sender != receiver && other.sent > 0) {
                let last = by_sender.get(sender).and_then(|numbers| numbers.last());
                assert_eq!(last, Some(&(other.sent - 1)), "{receiver} of {sender}");
            }
        }
    }

    /// Checks that no two participants got two messages in different orders.
    pub(crate) fn has_one_order(&self) {
        let records = self.records();
        let places: Vec<(u32, BTreeMap<Message, usize>)> = records
            .iter()
            .map(|(id, record)| (*id, record.received.iter().enumerate().map(|(at, it)| (*it, at)).collect()))
            .collect();
        for (receiver, record) in &records {
            for (other, places) in &places {
                let common = record.received.iter().filter_map(|it| Some((*it, *places.get(it)?)));
                let common: Vec<(Message, usize)> = common.collect();
                let wrong = common.windows(2).find(|two| two[1].1 < two[0].1);
                assert_eq!(wrong, None, "{receiver} and {other} disagree");
            }
        }
    }
}
