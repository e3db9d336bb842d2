//! Kafka by `rdkafka`.

use crate::Error;
use crate::figures::pubsub::by_hand_failed as failed;
use crate::figures::pubsub::counted::Count;
use crate::figures::pubsub::exchange::{Receives, ReceivesBursts, Sends, SendsBursts, group, number};
use futures_util::FutureExt;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{CommitMode, Consumer, StreamConsumer};
use rdkafka::message::Message;
use rdkafka::producer::{FutureProducer, FutureRecord};
use rdkafka::{Offset, TopicPartitionList};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// A publisher to a topic.
pub(crate) struct KafkaProducer {
    producer: FutureProducer,
    topic: String,
    /// True if messages of a group have a key.
    is_ordered: bool,
    count: Count,
}

impl KafkaProducer {
    pub(crate) fn open(brokers: &str, topic: &str, is_ordered: bool, count: Count) -> Result<Self, Error> {
        let producer = ClientConfig::new()
            .set("bootstrap.servers", brokers)
            .set("enable.idempotence", "true")
            .set("linger.ms", "0")
            .set("partitioner", "murmur2_random")
            .create()
            .map_err(failed)?;
        Ok(Self { producer, topic: topic.to_owned(), is_ordered, count })
    }
}

impl SendsBursts for KafkaProducer {
    async fn send_all(&self, messages: Vec<Vec<u8>>) -> Result<(), Error> {
        self.count.call();
        let mut confirmations = Vec::with_capacity(messages.len());
        for message in &messages {
            let record = FutureRecord::<[u8], [u8]>::to(&self.topic).payload(message);
            confirmations.push(self.producer.send_result(record).map_err(|(error, _)| failed(error))?);
        }
        for confirmation in confirmations {
            confirmation.await.map_err(failed)?.map_err(|(error, _)| failed(error))?;
        }
        Ok(())
    }
}

impl Sends for KafkaProducer {
    async fn send(&self, message: Vec<u8>) -> Result<(), Error> {
        self.count.call();
        let mut record = FutureRecord::to(&self.topic).payload(&message[..]);
        if self.is_ordered {
            record = record.key(group(&message));
        }
        let sent = self.producer.send(record, Duration::from_secs(30)).await;
        sent.map(drop).map_err(|(error, _)| failed(error))
    }
}

/// A receiver of a topic, as the only member of a group.
pub(crate) struct KafkaReceiver {
    consumer: Arc<StreamConsumer>,
    topic: String,
    /// Offset behind the last received message, for each partition.
    done: BTreeMap<i32, i64>,
    count: Count,
}

impl KafkaReceiver {
    pub(crate) fn open(brokers: &str, topic: &str, count: Count) -> Result<Self, Error> {
        let consumer: StreamConsumer = ClientConfig::new()
            .set("bootstrap.servers", brokers)
            .set("group.id", format!("by-hand.{topic}"))
            .set("enable.auto.commit", "false")
            .set("auto.offset.reset", "earliest")
            .set("fetch.wait.max.ms", "100")
            .set("partition.assignment.strategy", "cooperative-sticky")
            .create()
            .map_err(failed)?;
        consumer.subscribe(&[topic]).map_err(failed)?;
        Ok(Self { consumer: Arc::new(consumer), topic: topic.to_owned(), done: BTreeMap::new(), count })
    }
}

impl ReceivesBursts for KafkaReceiver {
    async fn take(&mut self, limit: usize) -> Result<usize, Error> {
        self.count.call();
        let mut taken = 0;
        let mut next = Some(self.consumer.recv().await.map_err(failed)?);
        while let Some(message) = next {
            // The message is copied, as by an application that keeps it.
            std::hint::black_box(message.payload().map(<[u8]>::to_vec));
            self.done.insert(message.partition(), message.offset() + 1);
            taken += 1;
            let more = if taken < limit { self.consumer.recv().now_or_never() } else { None };
            next = more.transpose().map_err(failed)?;
        }
        self.acknowledge().await?;
        Ok(taken)
    }
}

impl Receives for KafkaReceiver {
    async fn receive(&mut self) -> Result<Vec<u32>, Error> {
        self.count.call();
        let message = self.consumer.recv().await.map_err(failed)?;
        self.done.insert(message.partition(), message.offset() + 1);
        Ok(vec![number(message.payload().unwrap_or_default())?])
    }

    async fn acknowledge(&mut self) -> Result<(), Error> {
        self.count.call();
        let mut places = TopicPartitionList::new();
        for (partition, offset) in std::mem::take(&mut self.done) {
            places.add_partition_offset(&self.topic, partition, Offset::Offset(offset)).map_err(failed)?;
        }
        let consumer = self.consumer.clone();
        let commit = move || consumer.commit(&places, CommitMode::Sync);
        tokio::task::spawn_blocking(commit).await.map_err(failed)?.map_err(failed)
    }
}
