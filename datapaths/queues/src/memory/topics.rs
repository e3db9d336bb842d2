//! The topics of the service, without a clock.

use super::error;
use super::limits::Limits;
use super::subscription::{Message, Messages};
use bertha_core::{Error, ErrorKind};
use std::collections::BTreeMap;

/// Largest number of messages that are kept for a subscription.
const MAX_KEPT: usize = 100_000;

#[derive(Debug, Default)]
pub(super) struct Topics(BTreeMap<String, Topic>);

#[derive(Debug)]
pub(super) struct Topic {
    pub(super) limits: Limits,
    subscriptions: BTreeMap<String, Messages>,
}

impl Topics {
    pub(super) fn create(&mut self, topic: &str, limits: Limits) {
        let empty = || Topic { limits, subscriptions: BTreeMap::new() };
        self.0.entry(topic.into()).or_insert_with(empty);
    }

    pub(super) fn delete(&mut self, topic: &str) {
        self.0.remove(topic);
    }

    pub(super) fn find(&mut self, topic: &str) -> Result<&mut Topic, Error> {
        self.0.get_mut(topic).ok_or_else(|| {
            error(ErrorKind::Invalid, format!("there is no topic `{topic}`; create it with Topic::create"))
        })
    }

    pub(super) fn redeliver(&mut self) {
        for Topic { limits, subscriptions } in self.0.values_mut() {
            subscriptions.values_mut().for_each(|messages| messages.give_all_back(limits));
        }
    }

    pub(super) fn dead_letters(&self, topic: &str) -> Vec<Vec<u8>> {
        let subscriptions = self.0.get(topic).into_iter().flat_map(|topic| topic.subscriptions.values());
        subscriptions.flat_map(|messages| messages.dead().to_vec()).collect()
    }

    pub(super) fn kept(&self, topic: &str, subscription: &str) -> usize {
        let topic = self.0.get(topic);
        topic.and_then(|topic| topic.subscriptions.get(subscription)).map_or(0, Messages::len)
    }
}

impl Topic {
    pub(super) fn subscribe(&mut self, name: &str) -> Result<(), Error> {
        let is_other = |other: &String| other != name;
        if !self.limits.has_multicast
            && let Some(other) = self.subscriptions.keys().find(|other| is_other(other))
        {
            let what = format!("the topic has the subscription `{other}`, and there is no multicast");
            return Err(error(ErrorKind::Unavailable, what));
        }
        self.subscriptions.entry(name.into()).or_default();
        Ok(())
    }

    pub(super) fn has_room(&self, messages: usize) -> Result<(), Error> {
        if self.subscriptions.values().any(|kept| kept.len() + messages > MAX_KEPT) {
            let what = format!("a subscription has {MAX_KEPT} messages that nobody acknowledges");
            return Err(error(ErrorKind::Exhausted, what));
        }
        Ok(())
    }

    pub(super) fn publish(&mut self, message: &Message) {
        self.subscriptions.values_mut().for_each(|messages| messages.publish(message.clone()));
    }

    pub(super) fn messages(&mut self, subscription: &str) -> Result<(&mut Messages, Limits), Error> {
        let messages = self.subscriptions.get_mut(subscription).ok_or_else(|| {
            error(ErrorKind::Invalid, format!("there is no subscription `{subscription}` any more"))
        })?;
        Ok((messages, self.limits))
    }
}
