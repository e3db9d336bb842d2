//! The publishers and receivers of the service.

use super::subscription::{Delivered, Message};
use super::{MemoryShared, error};
use crate::{Abilities, Incoming, Outgoing, Publisher, Subscription, Unsent};
use bertha_core::{Error, ErrorKind, Runtime};
use bertha_runtime::tokio::TokioRuntime;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// An end that publishes to a topic of a [`MemoryQueue`](super::MemoryQueue).
pub struct MemoryPublisher {
    pub(super) shared: Arc<MemoryShared>,
    pub(super) topic: Arc<str>,
    pub(super) abilities: Abilities,
}

impl Publisher for MemoryPublisher {
    async fn publish(&self, burst: &[Outgoing<'_>]) -> Result<Vec<Unsent>, Error> {
        let max_call = {
            let mut faults = self.shared.faults.lock();
            faults.check()?;
            faults.max_call.unwrap_or(usize::MAX)
        };
        if burst.len() > self.abilities.publish_batch {
            return Err(error(ErrorKind::Invalid, format!("{} messages in one call", burst.len())));
        }
        let mut topics = self.shared.topics.lock();
        let topic = topics.find(&self.topic)?;
        topic.has_room(burst.len())?;
        let is_refused = burst.iter().map(|message| message.payload.len()).sum::<usize>() > max_call;
        let mut unsent = Vec::new();
        for (at, message) in burst.iter().enumerate() {
            if is_refused || message.payload.len() > self.abilities.max_message {
                let what = format!("message of {} bytes", message.payload.len());
                unsent.push(Unsent { at, error: error(ErrorKind::TooLarge, what) });
            } else {
                topic.publish(&Message { payload: message.payload.to_vec(), key: message.key });
            }
        }
        drop(topics);
        self.shared.changed.notify_waiters();
        Ok(unsent)
    }
}

/// An end that receives from a topic of a [`MemoryQueue`](super::MemoryQueue).
pub struct MemorySubscription {
    pub(super) shared: Arc<MemoryShared>,
    pub(super) topic: Arc<str>,
    pub(super) name: Arc<str>,
    pub(super) abilities: Abilities,
    /// True if calls wait for messages.
    pub(super) waits: bool,
}

/// The number of a delivery by a [`MemoryQueue`](super::MemoryQueue).
#[derive(Debug, Clone)]
pub struct MemoryReceipt(u64);

impl MemorySubscription {
    /// Returns the available messages, and the time at which a message is delivered again, if nothing happens
    /// before.
    fn look(&self, limit: usize) -> Result<(Vec<Delivered>, Option<Instant>), Error> {
        let mut topics = self.shared.topics.lock();
        let (messages, limits) = topics.find(&self.topic)?.messages(&self.name)?;
        let burst = messages.deliver(limit, TokioRuntime.now(), &limits);
        Ok((burst, messages.next_redelivery()))
    }

    fn settle(
        &self,
        receipts: &[MemoryReceipt],
        settle: impl Fn(&mut super::subscription::Messages, u64, &super::Limits),
    ) -> Result<(), Error> {
        self.shared.faults.lock().check()?;
        if receipts.len() > self.abilities.acknowledge_batch {
            return Err(error(ErrorKind::Invalid, format!("{} receipts in one call", receipts.len())));
        }
        let mut topics = self.shared.topics.lock();
        let (messages, limits) = topics.find(&self.topic)?.messages(&self.name)?;
        receipts.iter().for_each(|receipt| settle(messages, receipt.0, &limits));
        drop(topics);
        self.shared.changed.notify_waiters();
        Ok(())
    }
}

impl Subscription for MemorySubscription {
    type Receipt = MemoryReceipt;

    async fn receive(&self, limit: usize, wait: Duration) -> Result<Vec<Incoming<MemoryReceipt>>, Error> {
        self.shared.faults.lock().check()?;
        let limit = limit.min(self.abilities.receive_batch);
        let until = TokioRuntime.now() + if self.waits { wait } else { Duration::ZERO };
        loop {
            // The future is created before the look, so that no notification is missed.
            let changed = self.shared.changed.notified();
            let (burst, redelivery) = self.look(limit)?;
            if !burst.is_empty() || TokioRuntime.now() >= until {
                let receive =
                    |Delivered { number, payload }| Incoming { payload, receipt: MemoryReceipt(number) };
                return Ok(burst.into_iter().map(receive).collect());
            }
            let next = redelivery.map_or(until, |at| at.min(until));
            let _is_late = tokio::time::timeout_at(next.into(), changed).await;
            self.shared.faults.lock().has_to_fail()?;
        }
    }

    async fn acknowledge(&self, receipts: &[MemoryReceipt]) -> Result<(), Error> {
        self.settle(receipts, |messages, number, _| messages.acknowledge(number))
    }

    async fn give_back(&self, receipts: &[MemoryReceipt]) -> Result<(), Error> {
        self.settle(receipts, |messages, number, limits| messages.give_back(number, limits))
    }

    async fn give_back_unseen(&self, receipts: &[MemoryReceipt]) -> Result<(), Error> {
        self.settle(receipts, |messages, number, _| messages.give_back_unseen(number))
    }
}

bertha_core::debug_fields!(MemoryPublisher { topic });

impl fmt::Debug for MemorySubscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("MemorySubscription");
        debug.field("topic", &self.topic).field("name", &self.name).finish_non_exhaustive()
    }
}
