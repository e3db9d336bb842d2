//! Topics of messaging services as the bottom of a stack.
//!
//! A **topic** takes messages. Each of its **subscriptions** gets every message published after the
//! subscription was created, and the receivers of a subscription share its messages: each message goes to one
//! receiver. A publisher and a receiver never meet, so nothing is negotiated between them: a stack is wrapped
//! around each end's connection, or agreed on among any number of ends by a rendezvous.
//!
//! # At least once
//!
//! A message is **acknowledged** by an act, after the work: [`Buf::done`](bertha_core::Buf::done), or
//! [`WithReceipt::done`](bertha_core::WithReceipt::done) above a stack that decodes messages
//! (`Serialize::with_receipts`). A message that is dropped instead, since a task failed, was cancelled, lost a
//! `select!` or returned early, is delivered again after a [pause](QueueSettings::give_back_pause) that grows with each
//! failure, to any receiver of the subscription; `give_back` does so at once. A message of a process that was killed,
//! and a message that is held when the connection closes, is delivered again, too. A message that fails again and again
//! goes to the service's dead-letter queue, if it has one.
//!
//! A layer that forgets receipts (`Serialize` itself, `Rpc`) refuses such a connection. With
//! [`acknowledge_by_dropping`](QueueSettings::acknowledge_by_dropping) a message is acknowledged when its buffer is
//! dropped, and every stack fits.
//!
//! # Many messages, few calls
//!
//! Services bill calls. A burst is published with as few calls as the service permits; `recv_batch` asks for
//! a whole burst; and acknowledgements of receivers of bursts wait for each other for a
//! [moment](QueueSettings::ack_delay). [`QueueConnection::calls`] counts all calls, and [`Prices`] converts
//! them to their cost.
//!
//! # Services
//!
//! | service | module | feature |
//! |---|---|---|
//! | a service in memory, for tests | [`MemoryQueue`] | none |
//! | Azure Queue Storage | `azure` | `azure` |
//! | Google Cloud Pub/Sub | `google` | `google` |
//! | Kafka | `kafka` | `kafka`; `kafka-tls` for TLS and SCRAM |
//! | NATS JetStream | `nats` | `nats` |
//! | Redis Streams | `redis` | `redis`; `redis-tls` for TLS |
//! | Amazon SQS and SNS | `sqs` | `sqs`; `sqs-sso` for the single sign-on of an organisation |
//!
//! All services run on tokio. A further service is a type that implements [`Service`].

#![forbid(unsafe_code)]

mod abilities;
mod acknowledging;
#[cfg(feature = "azure")]
pub mod azure;
mod base;
mod calls;
#[cfg(any(feature = "nats", feature = "redis-tls", feature = "sqs"))]
mod causes;
mod closing;
mod connection;
#[cfg(any(feature = "azure", feature = "google", feature = "redis-tls"))]
mod cryptography;
#[cfg(feature = "google")]
pub mod google;
mod group;
#[cfg(feature = "kafka")]
pub mod kafka;
mod memory;
#[cfg(feature = "nats")]
pub mod nats;
mod pair;
mod prices;
mod receiving;
#[cfg(feature = "redis")]
pub mod redis;
mod retries;
mod sending;
mod service;
mod settings;
#[cfg(feature = "sqs")]
pub mod sqs;
mod statistics;
mod topic;

pub use abilities::{Abilities, Ordering, Role};
pub use base::QueueBase;
pub use calls::Calls;
pub use connection::QueueConnection;
pub use group::TopicGroup;
pub use memory::{MemoryPublisher, MemoryQueue, MemoryReceipt, MemorySubscription};
pub use pair::{Pair, PairPublisher, PairReceipt, PairSubscription};
pub use prices::{Cost, Prices};
pub use service::{Incoming, Outgoing, Publisher, Service, Subscription, Unsent};
pub use settings::QueueSettings;
pub use statistics::QueueStatistics;
pub use topic::Topic;
