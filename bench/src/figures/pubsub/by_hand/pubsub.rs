//! Google Pub/Sub by the stubs that are generated from its definition.

use crate::Error;
use crate::figures::pubsub::by_hand_failed as failed;
use crate::figures::pubsub::counted::Count;
use crate::figures::pubsub::exchange::{Receives, Sends, group, number};
use crate::figures::pubsub::place::PROJECT;
use gcloud_googleapis::pubsub::v1::publisher_client::PublisherClient;
use gcloud_googleapis::pubsub::v1::subscriber_client::SubscriberClient;
use gcloud_googleapis::pubsub::v1::{
    AcknowledgeRequest, PublishRequest, PubsubMessage, PullRequest, Subscription,
};
use tonic::transport::{Channel, Endpoint};

/// A publisher to a topic.
pub(crate) struct PubSubPublisher {
    client: PublisherClient<Channel>,
    topic: String,
    /// True if messages of a group have an ordering key.
    is_ordered: bool,
    count: Count,
}

impl PubSubPublisher {
    pub(crate) async fn open(host: &str, topic: &str, is_ordered: bool, count: Count) -> Result<Self, Error> {
        let client = PublisherClient::new(connect(host).await?);
        Ok(Self { client, topic: full_name(topic), is_ordered, count })
    }
}

impl Sends for PubSubPublisher {
    async fn send(&self, message: Vec<u8>) -> Result<(), Error> {
        self.count.call();
        let mut sent = PubsubMessage::default();
        if self.is_ordered {
            sent.ordering_key = String::from_utf8_lossy(group(&message)).into_owned();
        }
        sent.data = message;
        let request = PublishRequest { topic: self.topic.clone(), messages: vec![sent] };
        self.client.clone().publish(request).await.map(drop).map_err(failed)
    }
}

/// A receiver of a subscription of its own.
pub(crate) struct PubSubReceiver {
    /// Connection that waits; acknowledgements have another connection.
    waiting: SubscriberClient<Channel>,
    client: SubscriberClient<Channel>,
    subscription: String,
    held: Option<String>,
    count: Count,
}

impl PubSubReceiver {
    pub(crate) async fn open(host: &str, topic: &str, is_ordered: bool, count: Count) -> Result<Self, Error> {
        let waiting = SubscriberClient::new(connect(host).await?);
        let mut client = SubscriberClient::new(connect(host).await?);
        let subscription = format!("projects/{PROJECT}/subscriptions/{topic}-by-hand");
        let request = Subscription {
            name: subscription.clone(),
            topic: full_name(topic),
            ack_deadline_seconds: 30,
            enable_message_ordering: is_ordered,
            ..Default::default()
        };
        client.create_subscription(request).await.map_err(failed)?;
        Ok(Self { waiting, client, subscription, held: None, count })
    }
}

impl Receives for PubSubReceiver {
    async fn receive(&mut self) -> Result<Vec<u32>, Error> {
        loop {
            self.count.call();
            let subscription = self.subscription.clone();
            let request = PullRequest { subscription, max_messages: 1, ..Default::default() };
            let answer = self.waiting.pull(request).await.map_err(failed)?.into_inner();
            let Some(received) = answer.received_messages.into_iter().next() else { continue };
            self.held = Some(received.ack_id);
            return Ok(vec![number(&received.message.unwrap_or_default().data)?]);
        }
    }

    async fn acknowledge(&mut self) -> Result<(), Error> {
        let Some(id) = self.held.take() else { return Ok(()) };
        self.count.call();
        let request = AcknowledgeRequest { subscription: self.subscription.clone(), ack_ids: vec![id] };
        self.client.acknowledge(request).await.map(drop).map_err(failed)
    }
}

async fn connect(host: &str) -> Result<Channel, Error> {
    let endpoint = Endpoint::from_shared(format!("http://{host}")).map_err(failed)?;
    endpoint.connect().await.map_err(failed)
}

fn full_name(topic: &str) -> String {
    format!("projects/{PROJECT}/topics/{topic}")
}
