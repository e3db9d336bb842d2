//! The messages of a subscription, without a clock.

use super::limits::Limits;
use crate::Ordering;
use std::collections::{BTreeMap, HashSet};
use std::time::Instant;

/// A message that was published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) payload: Vec<u8>,
    pub(super) key: Option<u64>,
}

/// A message with the number of its delivery, by which it is acknowledged.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Delivered {
    pub(super) number: u64,
    pub(super) payload: Vec<u8>,
}

/// Waiting messages, in the order in which they were published, and delivered messages.
#[derive(Debug, Default)]
pub(super) struct Messages {
    waiting: BTreeMap<u64, WaitingMessage>,
    delivered: BTreeMap<u64, UnderWay>,
    dead: Vec<Vec<u8>>,
    published: u64,
    deliveries: u64,
}

#[derive(Debug)]
struct WaitingMessage {
    message: Message,
    deliveries: u32,
}

#[derive(Debug)]
struct UnderWay {
    /// The message's place in the order.
    place: u64,
    message: Message,
    deliveries: u32,
    /// Time at which the message is delivered again; `None` if it is too far away to be represented.
    until: Option<Instant>,
}

impl Messages {
    pub(super) fn publish(&mut self, message: Message) {
        self.published += 1;
        self.waiting.insert(self.published, WaitingMessage { message, deliveries: 0 });
    }

    /// Returns the number of messages that are kept.
    pub(super) fn len(&self) -> usize {
        self.waiting.len() + self.delivered.len()
    }

    pub(super) fn dead(&self) -> &[Vec<u8>] {
        &self.dead
    }

    /// Delivers at most `limit` messages. With order by key, the messages of a key wait while a message of
    /// this key is under way.
    pub(super) fn deliver(&mut self, limit: usize, now: Instant, limits: &Limits) -> Vec<Delivered> {
        self.expire(now, limits);
        let by_key = limits.ordering == Ordering::ByKey;
        let busy: HashSet<_> =
            self.delivered.values().filter(|_| by_key).filter_map(|it| it.message.key).collect();
        let free = |waiting: &WaitingMessage| waiting.message.key.is_none_or(|key| !busy.contains(&key));
        let places: Vec<_> =
            self.waiting.iter().filter(|(_, it)| free(it)).map(|(place, _)| *place).take(limit).collect();
        let until = now.checked_add(limits.redelivery);
        let mut burst = Vec::new();
        for place in places {
            let Some(WaitingMessage { message, deliveries }) = self.waiting.remove(&place) else { continue };
            self.deliveries += 1;
            let number = self.deliveries;
            burst.push(Delivered { number, payload: message.payload.clone() });
            self.delivered.insert(number, UnderWay { place, message, deliveries: deliveries + 1, until });
        }
        burst
    }

    /// Removes a delivered message. A message that was delivered again meanwhile stays.
    pub(super) fn acknowledge(&mut self, number: u64) {
        self.delivered.remove(&number);
    }

    pub(super) fn give_back(&mut self, number: u64, limits: &Limits) {
        let Some(UnderWay { place, message, deliveries, .. }) = self.delivered.remove(&number) else {
            return;
        };
        if limits.dead_letters_after.is_some_and(|most| deliveries >= most) {
            self.dead.push(message.payload);
        } else {
            self.waiting.insert(place, WaitingMessage { message, deliveries });
        }
    }

    /// Gives a message back, and takes its delivery back.
    pub(super) fn give_back_unseen(&mut self, number: u64) {
        if let Some(UnderWay { place, message, deliveries, .. }) = self.delivered.remove(&number) {
            self.waiting.insert(place, WaitingMessage { message, deliveries: deliveries - 1 });
        }
    }

    /// Gives all messages back.
    pub(super) fn give_all_back(&mut self, limits: &Limits) {
        self.give_back_if(limits, |_| true);
    }

    /// Returns the time at which a message is delivered again, if nothing happens before.
    pub(super) fn next_redelivery(&self) -> Option<Instant> {
        self.delivered.values().filter_map(|it| it.until).min()
    }

    fn expire(&mut self, now: Instant, limits: &Limits) {
        self.give_back_if(limits, |it| it.until.is_some_and(|until| until <= now));
    }

    fn give_back_if(&mut self, limits: &Limits, condition: impl Fn(&UnderWay) -> bool) {
        let numbers: Vec<_> =
            self.delivered.iter().filter(|(_, it)| condition(it)).map(|(number, _)| *number).collect();
        numbers.into_iter().for_each(|number| self.give_back(number, limits));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const LIMITS: Limits = Limits {
        ordering: Ordering::ByKey,
        has_multicast: true,
        redelivery: Duration::from_secs(1),
        dead_letters_after: Some(2),
    };

    fn messages(keys: &[Option<u64>]) -> (Messages, Instant) {
        let mut messages = Messages::default();
        for (number, key) in keys.iter().enumerate() {
            messages.publish(Message { payload: vec![number as u8], key: *key });
        }
        (messages, Instant::now())
    }

    fn payloads(burst: &[Delivered]) -> Vec<u8> {
        burst.iter().map(|message| message.payload[0]).collect()
    }

    #[test]
    fn a_key_waits_while_one_of_its_messages_is_under_way() {
        let (mut messages, now) = messages(&[Some(1), Some(1), Some(2), None, Some(1)]);
        let first = messages.deliver(1, now, &LIMITS);
        assert_eq!(payloads(&messages.deliver(9, now, &LIMITS)), [2, 3]);
        messages.acknowledge(first[0].number);
        assert_eq!(payloads(&messages.deliver(9, now, &LIMITS)), [1, 4]);
    }

    #[test]
    fn what_is_given_back_comes_again_in_its_place() {
        let (mut messages, now) = messages(&[None, None, None]);
        let burst = messages.deliver(2, now, &LIMITS);
        messages.give_back(burst[1].number, &LIMITS);
        messages.give_back(burst[0].number, &LIMITS);
        assert_eq!(payloads(&messages.deliver(9, now, &LIMITS)), [0, 1, 2]);
    }

    #[test]
    fn what_is_not_acknowledged_in_time_comes_again_until_it_is_put_aside() {
        let (mut messages, now) = messages(&[None]);
        let first = messages.deliver(1, now, &LIMITS);
        let again = now + LIMITS.redelivery;
        assert_eq!(messages.next_redelivery(), Some(again));
        assert!(messages.deliver(1, again - Duration::from_nanos(1), &LIMITS).is_empty());
        assert_eq!(payloads(&messages.deliver(1, again, &LIMITS)), [0]);
        // The acknowledgement comes too late.
        messages.acknowledge(first[0].number);
        assert_eq!(messages.len(), 1);
        assert!(messages.deliver(1, again + LIMITS.redelivery, &LIMITS).is_empty());
        assert_eq!((messages.len(), messages.dead()), (0, &[vec![0]][..]));
    }
}
