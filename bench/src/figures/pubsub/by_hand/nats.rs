//! NATS JetStream by `async-nats`.

use crate::Error;
use crate::figures::pubsub::by_hand_failed as failed;
use crate::figures::pubsub::counted::Count;
use crate::figures::pubsub::exchange::{Receives, ReceivesBursts, Sends, SendsBursts, group, number};
use async_nats::jetstream::consumer::pull::Config;
use async_nats::jetstream::consumer::{AckPolicy, PullConsumer};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::{Context, Message};
use futures_util::stream::{BoxStream, SelectAll, select_all};
use futures_util::{StreamExt, TryStreamExt};
use std::time::Duration;

/// Time that a request waits at the server.
const WAIT: Duration = Duration::from_secs(20);

/// A publisher to the stream of a topic, by group if the topic has several subjects.
pub(crate) struct NatsPublisher {
    context: Context,
    subjects: Vec<String>,
    count: Count,
}

impl NatsPublisher {
    pub(crate) async fn open(address: &str, topic: &str, count: Count) -> Result<Self, Error> {
        let context = connect(address).await?;
        let subjects = subjects(&context, topic).await?;
        Ok(Self { context, subjects, count })
    }

    /// Encodes the message, with an identity by which the server recognises repetitions.
    fn encode(message: Vec<u8>) -> PublishMessage {
        PublishMessage::build().message_id(format!("{:032x}", rand::random::<u128>())).payload(message.into())
    }
}

impl SendsBursts for NatsPublisher {
    async fn send_all(&self, messages: Vec<Vec<u8>>) -> Result<(), Error> {
        self.count.call();
        let mut confirmations = Vec::with_capacity(messages.len());
        for message in messages {
            let sent = self.context.send_publish(self.subjects[0].clone(), Self::encode(message)).await;
            confirmations.push(sent.map_err(failed)?);
        }
        for confirmation in confirmations {
            confirmation.await.map_err(failed)?;
        }
        Ok(())
    }
}

impl Sends for NatsPublisher {
    async fn send(&self, message: Vec<u8>) -> Result<(), Error> {
        self.count.call();
        // Groups are numbered.
        let group: usize =
            std::str::from_utf8(group(&message)).ok().and_then(|it| it.parse().ok()).unwrap_or(0);
        let partitions = self.subjects.len().saturating_sub(1).max(1);
        let subject = self.subjects[group % partitions].clone();
        let sent = self.context.send_publish(subject, Self::encode(message)).await.map_err(failed)?;
        sent.await.map_err(failed)?;
        Ok(())
    }
}

/// A receiver of a topic, by a consumer of its own for each subject.
pub(crate) struct NatsReceiver {
    consumers: Vec<PullConsumer>,
    /// Requests for single messages, if there are several consumers.
    streams: Option<SelectAll<BoxStream<'static, Result<Message, Error>>>>,
    held: Option<Message>,
    count: Count,
}

impl NatsReceiver {
    pub(crate) async fn open(address: &str, topic: &str, count: Count) -> Result<Self, Error> {
        let context = connect(address).await?;
        let subjects = subjects(&context, topic).await?;
        let is_ordered = subjects.len() > 1;
        let mut consumers = Vec::new();
        for (number, subject) in subjects.into_iter().enumerate() {
            let config = Config {
                durable_name: Some(format!("by-hand-{number}")),
                ack_policy: AckPolicy::Explicit,
                filter_subject: subject,
                // A single message at a time keeps the order.
                max_ack_pending: if is_ordered { 1 } else { -1 },
                ..Config::default()
            };
            consumers.push(context.create_consumer_on_stream(config, topic).await.map_err(failed)?);
        }
        let mut streams = Vec::new();
        if is_ordered {
            for consumer in &consumers {
                let messages = consumer.stream().max_messages_per_batch(1).expires(WAIT).messages();
                streams.push(messages.await.map_err(failed)?.map_err(failed).boxed());
            }
        }
        let streams = is_ordered.then(|| select_all(streams));
        Ok(Self { consumers, streams, held: None, count })
    }
}

impl ReceivesBursts for NatsReceiver {
    async fn take(&mut self, limit: usize) -> Result<usize, Error> {
        self.count.call();
        let batch = self.consumers[0].batch().max_messages(limit).expires(WAIT).messages();
        let mut batch = batch.await.map_err(failed)?;
        let mut taken = 0;
        let mut last = None;
        while let Some(message) = batch.next().await {
            let message = message.map_err(failed)?;
            if let Some(before) = last.replace(message) {
                let before: Message = before;
                before.ack().await.map_err(failed)?;
            }
            taken += 1;
        }
        // The server has received the earlier acknowledgements when it confirms the last.
        if let Some(last) = last {
            last.double_ack().await.map_err(failed)?;
        }
        Ok(taken)
    }
}

impl Receives for NatsReceiver {
    async fn receive(&mut self) -> Result<Vec<u32>, Error> {
        loop {
            self.count.call();
            let message = match &mut self.streams {
                Some(streams) => streams.next().await,
                None => {
                    let batch = self.consumers[0].batch().max_messages(1).expires(WAIT).messages();
                    batch.await.map_err(failed)?.next().await.map(|message| message.map_err(failed))
                }
            };
            if let Some(message) = message {
                let message = message?;
                let number = number(&message.payload)?;
                self.held = Some(message);
                return Ok(vec![number]);
            }
        }
    }

    async fn acknowledge(&mut self) -> Result<(), Error> {
        self.count.call();
        match self.held.take() {
            Some(message) => message.double_ack().await.map_err(failed),
            None => Ok(()),
        }
    }
}

async fn connect(address: &str) -> Result<Context, Error> {
    let client = async_nats::connect(address).await.map_err(failed)?;
    Ok(async_nats::jetstream::new(client))
}

/// Returns a single subject, or a subject for each partition and the last for messages without a key.
async fn subjects(context: &Context, topic: &str) -> Result<Vec<String>, Error> {
    let stream = context.get_stream(topic).await.map_err(failed)?;
    Ok(stream.cached_info().config.subjects.clone())
}
