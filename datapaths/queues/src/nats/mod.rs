//! Topics in NATS JetStream as the bottom of a stack.
//!
//! A topic is a stream of the server, and a subscription a durable pull consumer, or a consumer for each
//! partition where order by key is kept.
//!
//! | | without order | [`ordered_by_key`](Nats::ordered_by_key) |
//! |---|---|---|
//! | ordering | none: a message that is delivered again comes behind later ones | by key, among any number of receivers |
//! | messages of a subscription that are being worked on | any number | one for each partition, and any number without a key |
//! | multicast | yes | yes |
//! | longest message | the server's `max_payload` (1 MiB) less 256 bytes | the same |
//! | retention | [`retention`](Nats::retention), 4 days | the same |
//! | redelivery | after [`redelivery`](Nats::redelivery), 30 s | the same |
//! | repeated publications | recognised by the server for two minutes | the same |
//! | dead letters | after [`dead_letters_after`](Nats::dead_letters_after), 5 | the same, so that one message can't hold up its partition |
//!
//! # Order by key
//!
//! The stream has a subject for each partition, a key belongs to one partition, and the server delivers a
//! single message of a partition at a time: the next message when this message is acknowledged. So order
//! holds for any behaviour of receivers, also when messages are delivered again, and a subscription works on
//! at most as many messages with keys at once as there are partitions. The number is a property of the topic,
//! fixed when it is created. A receiver that works on a message may hold a message of each other partition,
//! which waits for it as it would behind a consumer of Kafka. Messages without a key have no order, and wait
//! for nothing.
//!
//! # Dead letters
//!
//! JetStream stops delivering a message at a limit, and puts it nowhere. So the receiver that gets a message
//! once too often publishes it to the topic `NAME-dead`, which [`create`](crate::Service::create)
//! creates beside the topic `NAME`, and then ends it. A process that dies between these two steps repeats
//! them, and the server recognises the repetition. Subscriptions of a dead-letter topic begin with its oldest
//! message.
//!
//! # Credentials
//!
//! The rules of other NATS clients apply: the credentials are in the address (`nats://user:password@host`,
//! `nats://token@host`), or in a credentials file (`.creds`) whose path is in the environment variable
//! `NATS_CREDS`; `tls://` means TLS with the certificates of the system. [`ConnectOptions`] serve all other
//! cases.
//!
//! # Failures
//!
//! The client reconnects by itself, and the requests of a receiver are repeated. A call that the server does
//! not answer within five seconds is [`Unreachable`](bertha_core::ErrorKind::Unreachable), and so is every call, of
//! receivers too, once the client could not connect for five seconds; the connection repeats such calls for
//! [`retry_for`](crate::QueueSettings::retry_for) before it reports the error. A server that does not accept the
//! credentials any more is [`Unauthenticated`](bertha_core::ErrorKind::Unauthenticated). A message that was
//! stored survives a crash of the server. When the machine loses its power, the server may lose as much as
//! the last two minutes that are not on the disk (its `sync_interval`).

mod address;
mod events;
mod failure;
mod inbox;
mod names;
mod publisher;
mod service;
mod subscription;

pub use async_nats::ConnectOptions;
pub use publisher::NatsPublisher;
pub use service::Nats;
pub use subscription::{NatsReceipt, NatsSubscription};
