//! The service.

use super::failure::{invalid, no_topic};
use super::publisher::RedisPublisher;
use super::server::Server;
use super::subscription::{DeadLetters, RedisSubscription};
use crate::{Abilities, Ordering, Service};
use bertha_core::Error;
use redis::{Client, RedisResult};
use std::fmt;
use std::time::Duration;

/// Length of the longest message in bytes.
const LONGEST: usize = 64 << 20;

/// Largest number of messages in a call, so that the server is not held up for long.
const BATCH: usize = 256;

/// Suffix of the topic for dead letters, behind the name of a topic.
const DEAD: &str = "-dead";

/// Streams in a Redis server. Clones are cheap and share a connection to the server.
#[derive(Clone)]
pub struct RedisStreams {
    server: Server,
    length: usize,
    redelivery: Duration,
    deliveries: Option<u32>,
}

impl RedisStreams {
    /// Connects to the server at `address`: `redis://[user:password@]host[:port][/database]`, or `rediss://` for TLS.
    ///
    /// # Errors
    /// [`Unauthenticated`](bertha_core::ErrorKind::Unauthenticated) if the server does not accept the login;
    /// [`Unreachable`](bertha_core::ErrorKind::Unreachable); [`Invalid`](bertha_core::ErrorKind::Invalid) if
    /// `address` is no address, or this build has no TLS.
    pub async fn connect(address: &str) -> Result<Self, Error> {
        let client = Client::open(address).map_err(|error| {
            let what = "the address has to be redis://[user:password@]host[:port][/database], or rediss:// with the feature `redis-tls`";
            invalid(format!("{what} ({error})")).because(error)
        })?;
        Self::with_client(client).await
    }

    /// Connects by a client with settings of its own, for instance certificates.
    ///
    /// # Errors
    /// Errors of [`connect`](Self::connect).
    pub async fn with_client(client: Client) -> Result<Self, Error> {
        #[cfg(feature = "redis-tls")]
        crate::cryptography::install();
        let server = Server::new(client);
        server.connection().await?;
        Ok(Self { server, length: 1_000_000, redelivery: Duration::from_secs(30), deliveries: Some(5) })
    }

    /// Sets the approximate number of the newest messages of a topic that are kept, for publishers that are
    /// opened with this value: a subscription that falls further behind loses the oldest messages.
    #[must_use]
    pub fn length(mut self, messages: usize) -> Self {
        self.length = messages;
        self
    }

    /// Sets the time after which a message that was not acknowledged is delivered again. All receivers of a
    /// subscription need an equal time, which must be longer than the application's work on a message;
    /// otherwise it gets messages twice.
    #[must_use]
    pub fn redelivery(mut self, redelivery: Duration) -> Self {
        self.redelivery = redelivery;
        self
    }

    /// Sets the number of deliveries after which a message is put among the dead letters: 5 by default. With
    /// `None` it is delivered again and again.
    #[must_use]
    pub fn dead_letters_after(mut self, deliveries: impl Into<Option<u32>>) -> Self {
        self.deliveries = deliveries.into().map(|deliveries| deliveries.max(1));
        self
    }

    /// Returns the name of the topic for the dead letters of `topic`.
    #[must_use]
    pub fn dead_letters(topic: &str) -> String {
        if topic.ends_with(DEAD) { topic.to_owned() } else { format!("{topic}{DEAD}") }
    }

    /// Returns the number of deliveries after which messages of `topic` are put aside; dead letters stay in
    /// their topic.
    fn deliveries(&self, topic: &str) -> Option<u32> {
        self.deliveries.filter(|_| !topic.ends_with(DEAD))
    }

    /// Makes a call that may fail with `done` because it was made before, which counts as success.
    async fn call(&self, call: &redis::Cmd, done: &str) -> Result<(), Error> {
        let mut connection = self.server.connection().await?;
        let answer: RedisResult<()> = call.query_async(&mut connection).await;
        match answer {
            Err(error) if error.code() != Some(done) => Err(self.server.failed(error).await),
            _ => Ok(()),
        }
    }

    /// # Errors
    /// Returns [`Invalid`](bertha_core::ErrorKind::Invalid) if there is no such stream.
    async fn check(&self, topic: &str) -> Result<(), Error> {
        let mut connection = self.server.connection().await?;
        let kind: RedisResult<String> = redis::cmd("TYPE").arg(topic).query_async(&mut connection).await;
        match kind {
            Ok(kind) if kind == "stream" => Ok(()),
            Ok(kind) if kind == "none" => Err(no_topic(topic)),
            Ok(kind) => Err(invalid(format!("the key `{topic}` holds a {kind}, not a stream"))),
            Err(error) => Err(self.server.failed(error).await),
        }
    }
}

impl Service for RedisStreams {
    type Publisher = RedisPublisher;
    type Subscription = RedisSubscription;

    fn abilities(&self, topic: &str) -> Abilities {
        Abilities {
            service: "Redis Streams",
            ordering: Ordering::None,
            multicast: true,
            max_message: LONGEST,
            publish_batch: BATCH,
            publish_bytes: LONGEST,
            receive_batch: BATCH,
            acknowledge_batch: BATCH,
            retention: None,
            redelivery: self.redelivery,
            dead_letters: self.deliveries(topic).is_some(),
            one_by_one: false,
        }
    }

    async fn publisher(&self, topic: &str) -> Result<RedisPublisher, Error> {
        self.check(topic).await?;
        Ok(RedisPublisher { server: self.server.clone(), topic: topic.to_owned(), length: self.length })
    }

    async fn subscription(&self, topic: &str, name: &str) -> Result<RedisSubscription, Error> {
        self.check(topic).await?;
        let first = if topic.ends_with(DEAD) { "0" } else { "$" };
        let mut call = redis::cmd("XGROUP");
        call.arg("CREATE").arg(topic).arg(name).arg(first);
        self.call(&call, "BUSYGROUP").await?;
        let dead_letters = DeadLetters {
            topic: Self::dead_letters(topic),
            after: self.deliveries(topic).unwrap_or(u32::MAX).into(),
            length: self.length,
        };
        let server = self.server.clone();
        let topic = topic.to_owned();
        let name = name.to_owned();
        Ok(RedisSubscription::new(server, topic, name, self.redelivery, dead_letters))
    }

    async fn create(&self, topic: &str) -> Result<(), Error> {
        let mut connection = self.server.connection().await?;
        let mut calls = redis::pipe();
        for topic in [topic.to_owned(), Self::dead_letters(topic)] {
            // Creating a group also creates the stream without entries.
            calls.cmd("XGROUP").arg("CREATE").arg(&topic).arg("bertha:new").arg("$").arg("MKSTREAM").ignore();
            calls.cmd("XGROUP").arg("DESTROY").arg(&topic).arg("bertha:new").ignore();
        }
        let answer: RedisResult<()> = calls.atomic().query_async(&mut connection).await;
        match answer {
            Ok(()) => Ok(()),
            Err(error) => Err(self.server.failed(error).await),
        }
    }

    async fn delete(&self, topic: &str) -> Result<(), Error> {
        let mut call = redis::cmd("DEL");
        call.arg(topic).arg(Self::dead_letters(topic));
        self.call(&call, "").await
    }
}

impl fmt::Debug for RedisStreams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStreams")
            .field("at", &self.server.address())
            .field("length", &self.length)
            .field("redelivery", &self.redelivery)
            .field("deliveries", &self.deliveries)
            .finish_non_exhaustive()
    }
}
