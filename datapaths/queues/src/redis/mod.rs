//! Redis Streams as the bottom of a stack.
//!
//! A topic is a stream under its own name, and a subscription a consumer group of it. Entries have a single
//! field, `payload`. The server is Redis 6.2 or later (7.0 or later where
//! old entries are trimmed before they are received).
//!
//! | | |
//! |---|---|
//! | ordering | none: a message that is delivered again comes behind later ones |
//! | multicast | yes |
//! | longest message | 64 MiB (the server's own limit is 512 MiB) |
//! | retention | until it is acknowledged, and no longer than until [`length`](RedisStreams::length) newer ones are there, one million |
//! | redelivery | after [`redelivery`](RedisStreams::redelivery), 30 s |
//! | repeated publications | not recognised |
//! | dead letters | after [`dead_letters_after`](RedisStreams::dead_letters_after), 5, into the topic `NAME-dead` |
//!
//! The stream keeps acknowledged entries, since other subscriptions may not have received them; only its
//! length trims it. Redis is as durable as it is configured: without `appendfsync always`, a server that
//! crashes may forget confirmed messages, and without any persistence its topics. Then publishing and
//! receiving fail with [`Invalid`](bertha_core::ErrorKind::Invalid), until the topic is created again.
//!
//! # Redelivery
//!
//! A group knows for each entry when it was delivered last. Receivers look for overdue entries once a second,
//! and whenever a message is given back at this end; in between they wait at the server. So a message that
//! was given back reaches its former receiver at once, and another receiver within a second.
//!
//! # Credentials
//!
//! The address contains the credentials: `redis://user:password@host:port`, or `rediss://` for TLS, with the
//! certificates of the system and the feature `redis-tls`. [`with_client`](RedisStreams::with_client) serves all
//! other cases. A user of the topic `orders` needs these rights:
//!
//! ```text
#![doc = include_str!("user.acl")]
//! ```

mod failure;
mod publisher;
mod server;
mod streams;
mod subscription;
#[cfg(feature = "redis-tls")]
mod tls;

pub use publisher::RedisPublisher;
pub use redis::Client;
#[cfg(feature = "redis-tls")]
pub use redis::{ClientTlsConfig, TlsCertificates};
pub use streams::RedisStreams;
pub use subscription::{RedisReceipt, RedisSubscription};
