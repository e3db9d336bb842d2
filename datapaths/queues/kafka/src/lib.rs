//! Kafka topics as the bottom of a stack, by librdkafka, which is built with this crate: it needs a C compiler, `make` and zlib. Runs
//! on tokio alone.
//!
//! A topic is a topic of Kafka, and a subscription a consumer group, called `SUBSCRIPTION.TOPIC`, that begins with what is published after it was
//! opened first.
//!
//! | | |
//! |---|---|
//! | ordering | by key, among any number of receivers: a key belongs to a partition, and a partition to one receiver at a time |
//! | multicast | yes |
//! | longest message | 1,048,000 bytes, or what `message.max.bytes` allows |
//! | retention | the topic's `retention.ms`; where the broker has its default, 7 days |
//! | redelivery | when a receiver's session ends; no time limit for a message |
//! | repeated publications | recognised where the client itself tries again, not where the application does |
//! | dead letters | no: the broker does not count deliveries |
//!
//! # Acknowledging
//!
//! Kafka knows for each partition of a group one number: everything before it is done. So a message that is acknowledged while an earlier one of
//! its partition is not, is remembered here and committed with that one; if the receiver dies before, it is delivered again. A message that is given back takes
//! its partition back to it: it is delivered again, and behind it, in order, those of its partition that are not acknowledged by then.
//!
//! When receivers come or go, the group moves partitions among them. What a receiver has not acknowledged of a partition that it loses is delivered to the
//! next one, and its own acknowledgements of it count no more.
//!
//! A receiver belongs to the group from when it first asks for messages. One that then asks for none for five minutes
//! (`max.poll.interval.ms`) counts as dead, and gets its partitions again when it asks. More receivers than partitions are of no use: the others get nothing.
//!
//! # Credentials
//!
//! By librdkafka's own settings, with [`with_config`](Kafka::with_config): `security.protocol`, `sasl.mechanism`, `sasl.username`, `sasl.password` and the others of
//! its documentation. TLS and SCRAM need the feature `ssl`, which the facade calls `kafka-ssl`.
//!
//! # Failures
//!
//! The client connects again by itself. A message that the broker has not confirmed within thirty seconds (`message.timeout.ms`) fails with
//! [`Unreachable`](bertha_core::ErrorKind::Unreachable); it may have been stored, and those with the same key that were sent with it as well. A client
//! whose user may not publish ends for good: one that connects after the right was given publishes again.

#![forbid(unsafe_code)]

mod clients;
mod failure;
mod kafka;
mod ledger;
mod publisher;
mod subscription;

pub use kafka::Kafka;
pub use publisher::KafkaPublisher;
pub use subscription::{KafkaReceipt, KafkaSubscription};
