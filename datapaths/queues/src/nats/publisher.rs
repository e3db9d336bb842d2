//! The publishing end of a topic.

use super::events::Events;
use super::failure::of_publishing;
use crate::{Outgoing, Publisher, Unsent};
use async_nats::jetstream::Context;
use async_nats::jetstream::message::PublishMessage;
use bertha_core::Error;
use futures_util::future::{join, join_all};
use std::pin::pin;

/// An end that publishes to a topic of NATS.
///
/// A burst is sent at once, and is published when the server has confirmed each message. Where order by key
/// is kept, the messages of a partition wait for each other, so that a lost connection leaves no gap.
pub struct NatsPublisher {
    pub(crate) context: Context,
    pub(crate) events: Events,
    pub(crate) topic: String,
    /// Subjects of the topic. Where order by key is kept, each partition has a subject, and the last subject
    /// is for messages without a key.
    pub(crate) subjects: Vec<String>,
    pub(crate) is_ordered: bool,
}

impl NatsPublisher {
    async fn publish_in_order(&self, burst: &[Outgoing<'_>]) -> Vec<Unsent> {
        let mut partitions: Vec<Vec<usize>> = vec![Vec::new(); self.subjects.len()];
        let last = self.subjects.len() - 1;
        let mut without_key = Vec::new();
        for (at, message) in burst.iter().enumerate() {
            match message.key {
                Some(key) => partitions[(key % last as u64) as usize].push(at),
                None => without_key.push(at),
            }
        }
        let partitions = partitions.into_iter().enumerate().filter(|(_, places)| !places.is_empty());
        let in_order = join_all(partitions.map(async |(partition, places)| {
            for (index, at) in places.iter().enumerate() {
                let Err(error) = self.publish_one(&self.subjects[partition], &burst[*at]).await else {
                    continue;
                };
                let kind = error.kind();
                let text = error.context().to_owned();
                // Messages behind it stay back, so that the order is kept when they are tried again.
                let behind = places[index + 1..].iter();
                let behind =
                    behind.map(|at| Unsent { at: *at, error: Error::new(kind, text.clone()).at("Nats") });
                return std::iter::once(Unsent { at: *at, error }).chain(behind).collect();
            }
            Vec::new()
        }));
        let at_once = self.publish_at_once(burst, &without_key, &self.subjects[last]);
        let (in_order, at_once) = join(in_order, at_once).await;
        let mut unsent: Vec<Unsent> = in_order.into_iter().flatten().chain(at_once).collect();
        unsent.sort_unstable_by_key(|unsent| unsent.at);
        unsent
    }

    /// Publishes the messages at these places of the burst.
    async fn publish_at_once(&self, burst: &[Outgoing<'_>], places: &[usize], subject: &str) -> Vec<Unsent> {
        let mut confirmations = Vec::with_capacity(places.len());
        for at in places {
            let confirmation = self.context.send_publish(subject.to_owned(), encode(&burst[*at])).await;
            confirmations.push((*at, confirmation));
        }
        let mut unsent = Vec::new();
        for (at, confirmation) in confirmations {
            let result = match confirmation {
                Ok(confirmation) => confirmation.await.map(drop),
                Err(error) => Err(error),
            };
            if let Err(error) = result {
                unsent.push(Unsent { at, error: of_publishing(error) });
            }
        }
        unsent
    }

    async fn publish_one(&self, subject: &str, message: &Outgoing<'_>) -> Result<(), Error> {
        let confirmation = self.context.send_publish(subject.to_owned(), encode(message)).await;
        confirmation.map_err(of_publishing)?.await.map_err(of_publishing)?;
        Ok(())
    }
}

/// Encodes a message. The server recognises a second message with an equal identity as a repetition.
fn encode(message: &Outgoing<'_>) -> PublishMessage {
    PublishMessage::build()
        .message_id(format!("{:032x}", message.id))
        .payload(message.payload.to_vec().into())
}

impl Publisher for NatsPublisher {
    async fn publish(&self, burst: &[Outgoing<'_>]) -> Result<Vec<Unsent>, Error> {
        let published = async {
            Ok(match self.is_ordered {
                true => self.publish_in_order(burst).await,
                false => {
                    let all: Vec<usize> = (0..burst.len()).collect();
                    self.publish_at_once(burst, &all, &self.subjects[0]).await
                }
            })
        };
        self.events.unless_refused(&self.topic, pin!(published)).await
    }

    async fn close(&self) -> Result<(), Error> {
        self.context.client().flush().await.map_err(super::failure::unreachable)
    }
}

bertha_core::debug_fields!(NatsPublisher { topic });
