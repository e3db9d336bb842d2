//! Kafka topics as the bottom of a stack, by librdkafka, which is built with this crate: it needs a C
//! compiler, `make` and zlib.
//!
//! A topic is a topic of Kafka, and a subscription a consumer group, called `SUBSCRIPTION.TOPIC`. The group
//! begins with messages that are published after it was first opened.
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
//! Kafka keeps a single number for each partition of a group: everything before it is done. So if a message
//! is acknowledged before an earlier message of its partition, the acknowledgement is remembered here and
//! committed together with the earlier message's; if the receiver dies before, the message is delivered
//! again. A message that is given back takes its partition back to this message: it is delivered again, and
//! behind it, in order, all messages of the partition that are not acknowledged by then.
//!
//! When receivers come or go, the group moves partitions among them. Messages that a receiver has not
//! acknowledged of a partition that it loses are delivered to the next receiver, and its own acknowledgements
//! of them don't count any more.
//!
//! A receiver joins the group when it first asks for messages. A receiver that then asks for none for five
//! minutes (`max.poll.interval.ms`) counts as dead, and gets its partitions again when it asks. More
//! receivers than partitions are of no use: the surplus receivers get nothing.
//!
//! The broker forgets where a group is that has had no receiver for `offsets.retention.minutes`, 7 days by
//! default. Such a group begins like a new group, with messages that are published after it is opened again:
//! messages that were waiting for it are not delivered. A topic whose receivers stay away for longer needs a
//! higher `offsets.retention.minutes`.
//!
//! # Credentials
//!
//! Credentials are librdkafka's own settings, passed to [`with_config`](Kafka::with_config):
//! `security.protocol`, `sasl.mechanism`, `sasl.username`, `sasl.password` and further settings of its
//! documentation. TLS and SCRAM need the feature `kafka-tls`.
//!
//! # Failures
//!
//! The client connects again by itself. A receiver learns with [`Unreachable`](bertha_core::ErrorKind::Unreachable)
//! that no broker answers, once the connection has asked for [`retry_for`](crate::QueueSettings::retry_for). A message that the broker has not confirmed within thirty seconds
//! (`message.timeout.ms`) fails with [`Unreachable`](bertha_core::ErrorKind::Unreachable); it may have been
//! stored, and so may messages with its key that were sent with it. A client whose user may not publish ends
//! for good: a new client, connected after the right was given, publishes again.

mod clients;
mod failure;
mod ledger;
mod publisher;
mod service;
mod subscription;

pub use publisher::KafkaPublisher;
pub use service::Kafka;
pub use subscription::{KafkaReceipt, KafkaSubscription};
