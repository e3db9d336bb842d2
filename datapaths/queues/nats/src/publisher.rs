//! Publishing to a topic.

use crate::events::Events;
use crate::failure::{forbidden, of_publishing};
use async_nats::jetstream::Context;
use async_nats::jetstream::message::PublishMessage;
use bertha_core::Error;
use bertha_queue::{Outgoing, Publisher, Unsent};
use futures_util::future::join_all;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

/// An end that publishes to a topic of NATS.
///
/// A burst is sent at once, and is published when the server has confirmed each message. Where order by key is kept, the messages of a
/// partition wait for each other, so that a lost connection leaves no gap.
pub struct NatsPublisher {
    pub(crate) context: Context,
    pub(crate) events: Events,
    pub(crate) topic: String,
    /// More than one where order by key is kept.
    pub(crate) subjects: Vec<String>,
    pub(crate) is_ordered: bool,
    /// Where the next message without a key goes.
    pub(crate) next: AtomicUsize,
}

impl NatsPublisher {
    async fn publish_in_order(&self, burst: &[Outgoing<'_>]) -> Vec<Unsent> {
        let mut partitions: Vec<Vec<usize>> = vec![Vec::new(); self.subjects.len()];
        for (at, message) in burst.iter().enumerate() {
            let count = self.subjects.len();
            let partition = match message.key {
                Some(key) => (key % count as u64) as usize,
                None => self.next.fetch_add(1, Ordering::Relaxed) % count,
            };
            partitions[partition].push(at);
        }
        let partitions = partitions.into_iter().enumerate().filter(|(_, places)| !places.is_empty());
        let unsent = join_all(partitions.map(async |(partition, places)| {
            for (index, at) in places.iter().enumerate() {
                let Err(error) = self.publish_one(&self.subjects[partition], &burst[*at]).await else {
                    continue;
                };
                let (kind, text) = (error.kind(), error.context().to_owned());
                // Those behind it stay back, so that the same order can be tried again.
                let behind = places[index + 1..].iter();
                let behind =
                    behind.map(|at| Unsent { at: *at, error: Error::new(kind, text.clone()).at("Nats") });
                return std::iter::once(Unsent { at: *at, error }).chain(behind).collect();
            }
            Vec::new()
        }));
        let mut unsent: Vec<Unsent> = unsent.await.into_iter().flatten().collect();
        unsent.sort_unstable_by_key(|unsent| unsent.at);
        unsent
    }

    async fn publish_at_once(&self, burst: &[Outgoing<'_>]) -> Vec<Unsent> {
        let mut confirmations = Vec::with_capacity(burst.len());
        for message in burst {
            confirmations.push(self.context.send_publish(self.subjects[0].clone(), encode(message)).await);
        }
        let mut unsent = Vec::new();
        for (at, confirmation) in confirmations.into_iter().enumerate() {
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

/// The server takes a second message with the same identity for a repetition.
fn encode(message: &Outgoing<'_>) -> PublishMessage {
    PublishMessage::build()
        .message_id(format!("{:032x}", message.id))
        .payload(message.payload.to_vec().into())
}

impl Publisher for NatsPublisher {
    async fn publish(&self, burst: &[Outgoing<'_>]) -> Result<Vec<Unsent>, Error> {
        let published = async {
            match self.is_ordered {
                true => self.publish_in_order(burst).await,
                false => self.publish_at_once(burst).await,
            }
        };
        tokio::select! {
            unsent = published => Ok(unsent),
            text = self.events.refusal(&self.topic) => Err(forbidden(&text)),
        }
    }

    async fn close(&self) -> Result<(), Error> {
        self.context.client().flush().await.map_err(crate::failure::unreachable)
    }
}

impl fmt::Debug for NatsPublisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NatsPublisher").field("topic", &self.topic).finish_non_exhaustive()
    }
}
