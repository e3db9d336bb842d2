//! The publishing end of a topic.

use super::client::Client;
use crate::{Outgoing, Publisher, Unsent};
use bertha_core::Error;
use gcloud_googleapis::pubsub::v1::{PublishRequest, PubsubMessage};

/// The attribute of an empty message, since the service accepts no message without data and attributes.
const EMPTY: &str = "bertha-empty";

/// An end that publishes to a topic in Pub/Sub. The service accepts all messages of a call, or none.
///
/// The ordering key of a message is its key, in hexadecimal, where the service's value is configured for order.
#[derive(Debug)]
pub struct PubSubPublisher {
    pub(crate) client: Client,
    pub(crate) topic: String,
    pub(crate) ordered: bool,
}

impl Publisher for PubSubPublisher {
    async fn publish(&self, burst: &[Outgoing<'_>]) -> Result<Vec<Unsent>, Error> {
        let messages = burst.iter().map(|message| self.message(message)).collect();
        let request = PublishRequest { topic: self.topic.clone(), messages };
        let mut stub = self.client.publisher();
        self.client
            .expect("publishing to", &self.topic, request, |it| async move { stub.publish(it).await })
            .await?;
        Ok(Vec::new())
    }
}

impl PubSubPublisher {
    fn message(&self, message: &Outgoing<'_>) -> PubsubMessage {
        let mut sent = PubsubMessage { data: message.payload.into(), ..Default::default() };
        if message.payload.is_empty() {
            sent.attributes.insert(EMPTY.into(), "true".into());
        }
        if let Some(key) = message.key.filter(|_| self.ordered) {
            sent.ordering_key = format!("{key:016x}");
        }
        sent
    }
}
