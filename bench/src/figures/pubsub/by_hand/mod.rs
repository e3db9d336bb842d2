//! The messages by each service's own client, as its documentation shows it: a single call for each message,
//! and equal promises.

mod azure;
mod kafka;
mod nats;
mod pubsub;
mod redis;
mod sqs;

pub(super) use azure::{AzurePublisher, AzureReceiver};
pub(super) use kafka::{KafkaProducer, KafkaReceiver};
pub(super) use nats::{NatsPublisher, NatsReceiver};
pub(super) use pubsub::{PubSubPublisher, PubSubReceiver};
pub(super) use redis::{RedisPublisher, RedisReceiver};
pub(super) use sqs::{SqsPublisher, SqsReceiver};
