//! The service.

use super::address;
use super::events::Events;
use super::failure::{Answered, invalid, of_answer, of_connecting};
use super::names;
use super::publisher::NatsPublisher;
use super::subscription::{Consumer, DeadLetters, NatsSubscription};
use crate::{Abilities, Ordering, Service};
use async_nats::jetstream::Context;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use async_nats::jetstream::context::ContextBuilder;
use async_nats::jetstream::stream::{Config, DiscardPolicy};
use async_nats::{Client, ConnectOptions};
use bertha_core::{Error, ErrorKind};
use futures_util::future::try_join_all;
use std::fmt;
use std::pin::pin;
use std::time::Duration;

/// Time limit of each answer of the server.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// Interval of probes of the server. After two unanswered probes the client connects anew.
const PING_INTERVAL: Duration = Duration::from_secs(5);

/// Number of bytes of the server's limit that a message may not use, since its headers count as well.
const HEADERS: usize = 256;

/// Largest number of messages in a call, so that a call stays short.
const BATCH: usize = 256;

/// NATS JetStream. Clones are cheap and share a connection to the server.
#[derive(Clone)]
pub struct Nats {
    client: Client,
    context: Context,
    events: Events,
    partitions: Option<usize>,
    retention: Duration,
    redelivery: Duration,
    deliveries: Option<u32>,
}

impl Nats {
    /// Connects to the server at `address`: `nats://[user:password@]host[:port]`, or `tls://`, or several
    /// addresses, separated by commas. The credentials file that the environment variable `NATS_CREDS` names
    /// is used, if the variable is set.
    ///
    /// # Errors
    /// [`Unauthenticated`](ErrorKind::Unauthenticated) if the server does not accept the credentials, or its
    /// certificate is not trusted; [`Unreachable`](ErrorKind::Unreachable); [`Invalid`](ErrorKind::Invalid)
    /// if `address` is no address or has a path behind the port, or the credentials file can't be read.
    pub async fn connect(address: &str) -> Result<Self, Error> {
        let Some(file) = std::env::var_os("NATS_CREDS").filter(|file| !file.is_empty()) else {
            return Self::open(address, ConnectOptions::new(), "a client without credentials").await;
        };
        let file = std::path::PathBuf::from(file);
        let shown = file.display().to_string();
        let options = ConnectOptions::new().credentials_file(file).await.map_err(|error| {
            invalid(format!("the credentials file {shown}, which NATS_CREDS names, can't be used ({error})"))
                .because(error)
        })?;
        Self::open(address, options, &format!("the credentials file {shown}, which NATS_CREDS names")).await
    }

    /// Connects with the client's own options, whose event callback is replaced.
    ///
    /// # Errors
    /// Errors of [`connect`](Self::connect).
    pub async fn with_options(address: &str, options: ConnectOptions) -> Result<Self, Error> {
        Self::open(address, options, "the credentials in the options").await
    }

    async fn open(address: &str, options: ConnectOptions, credentials: &str) -> Result<Self, Error> {
        let addresses = address::parse(address)?;
        let (options, has_login) = address::log_in(&addresses, options)?;
        let credentials =
            if has_login { "the user and password, or the token, in the address" } else { credentials };
        let events = Events::new();
        let reported = events.clone();
        let options = options.ping_interval(PING_INTERVAL).event_callback(move |event| {
            reported.on_event(&event);
            std::future::ready(())
        });
        let client = options.connect(addresses).await.map_err(|error| of_connecting(error, credentials))?;
        let context = ContextBuilder::new().timeout(ANSWER_TIMEOUT).build(client.clone());
        Ok(Self {
            client,
            context,
            events,
            partitions: None,
            retention: Duration::from_secs(4 * 24 * 60 * 60),
            redelivery: Duration::from_secs(30),
            deliveries: Some(5),
        })
    }

    /// Keeps messages with equal keys in order, for any number of receivers of its topics. A new topic has
    /// `partitions` partitions: a subscription works on at most as many messages with keys at once.
    ///
    /// # Panics
    /// Panics if `partitions` is zero.
    #[must_use]
    pub fn ordered_by_key(mut self, partitions: usize) -> Self {
        assert!(partitions > 0, "a topic that is ordered by key has at least one partition");
        self.partitions = Some(partitions);
        self
    }

    /// Sets the time for which a new topic keeps a message, whether it was received or not.
    #[must_use]
    pub fn retention(mut self, retention: Duration) -> Self {
        self.retention = retention;
        self
    }

    /// Sets the time after which a message that was not acknowledged is delivered again, for subscriptions
    /// that are opened with this value. It must be longer than the application's work on a message; otherwise
    /// the application gets messages twice.
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
        names::dead_letters(topic).unwrap_or_else(|| topic.to_owned())
    }

    /// Returns the number of partitions of a new topic; dead letters have no order.
    fn partitions(&self, topic: &str) -> Option<usize> {
        self.partitions.filter(|_| !names::is_of_dead_letters(topic))
    }

    /// Returns the subjects of a topic. Fails unless the topic keeps the expected order.
    async fn subjects(&self, topic: &str) -> Result<Vec<String>, Error> {
        names::check("a topic", topic)?;
        let found =
            self.call(topic, self.context.get_stream(topic)).await.map_err(|error| match error.kind() {
                ErrorKind::Invalid => {
                    invalid(format!("there is no topic `{topic}`; create it")).because(error)
                }
                _ => error,
            })?;
        let subjects = found.cached_info().config.subjects.clone();
        let partitions = self.partitions(topic);
        if partitions.is_some() == (subjects == [topic]) {
            let (is, wanted) = match partitions {
                Some(_) => {
                    ("no order", "order by key; delete it and create it anew, or do without `ordered_by_key`")
                }
                None => ("order by key", "none; use `Nats::ordered_by_key`"),
            };
            return Err(invalid(format!(
                "the topic `{topic}` was created with {is}, and is opened for {wanted}"
            )));
        }
        Ok(subjects)
    }

    async fn create_stream(&self, topic: &str, partitions: Option<usize>) -> Result<(), Error> {
        let config = Config {
            name: topic.to_owned(),
            subjects: names::subjects(topic, partitions),
            max_age: self.retention,
            // A full topic refuses new messages, and loses no old messages.
            discard: DiscardPolicy::New,
            ..Config::default()
        };
        self.call(topic, self.context.get_or_create_stream(config)).await.map(drop)
    }

    /// Waits for an answer of the server, unless the server reports that the user may not ask, or is away.
    async fn call<T, E: Answered>(
        &self,
        topic: &str,
        answer: impl IntoFuture<Output = Result<T, E>>,
    ) -> Result<T, Error> {
        let answer = answer.into_future();
        self.events.unless_refused(topic, pin!(async { answer.await.map_err(of_answer) })).await
    }
}

impl Service for Nats {
    type Publisher = NatsPublisher;
    type Subscription = NatsSubscription;

    fn abilities(&self, topic: &str) -> Abilities {
        Abilities {
            service: "NATS",
            ordering: if self.partitions(topic).is_some() { Ordering::ByKey } else { Ordering::None },
            multicast: true,
            max_message: self.client.max_payload().saturating_sub(HEADERS),
            publish_batch: BATCH,
            publish_bytes: usize::MAX,
            receive_batch: BATCH,
            acknowledge_batch: BATCH,
            retention: Some(self.retention),
            redelivery: self.redelivery,
            dead_letters: self.deliveries.is_some() && !names::is_of_dead_letters(topic),
            one_by_one: self.partitions(topic).is_some(),
        }
    }

    async fn publisher(&self, topic: &str) -> Result<NatsPublisher, Error> {
        Ok(NatsPublisher {
            subjects: self.subjects(topic).await?,
            is_ordered: self.partitions(topic).is_some(),
            context: self.context.clone(),
            events: self.events.clone(),
            topic: topic.to_owned(),
        })
    }

    async fn subscription(&self, topic: &str, name: &str) -> Result<NatsSubscription, Error> {
        names::check("a subscription", name)?;
        let subjects = self.subjects(topic).await?;
        let consumers = subjects.iter().map(async |subject| {
            let is_ordered = names::is_ordered(topic, subject);
            let config = pull::Config {
                durable_name: Some(names::consumer(name, topic, subject)),
                deliver_policy: match names::is_of_dead_letters(topic) {
                    true => DeliverPolicy::All,
                    false => DeliverPolicy::New,
                },
                ack_policy: AckPolicy::Explicit,
                ack_wait: self.redelivery,
                max_deliver: -1,
                // A partition delivers a single message at a time, which keeps the order.
                max_ack_pending: if is_ordered { 1 } else { -1 },
                filter_subject: subject.clone(),
                ..pull::Config::default()
            };
            let consumer = self.call(topic, self.context.create_consumer_on_stream(config, topic)).await?;
            Ok::<_, Error>(Consumer { consumer, is_ordered })
        });
        let consumers = try_join_all(consumers).await?;
        let dead_letters = names::dead_letters(topic)
            .zip(self.deliveries)
            .map(|(topic, deliveries)| DeadLetters { topic, after: deliveries.into() });
        Ok(NatsSubscription::new(
            self.client.clone(),
            self.context.clone(),
            self.events.clone(),
            consumers,
            self.redelivery,
            dead_letters,
        ))
    }

    async fn create(&self, topic: &str) -> Result<(), Error> {
        names::check("a topic", topic)?;
        self.create_stream(topic, self.partitions(topic)).await?;
        match names::dead_letters(topic) {
            Some(dead) => self.create_stream(&dead, None).await,
            None => Ok(()),
        }
    }

    async fn delete(&self, topic: &str) -> Result<(), Error> {
        names::check("a topic", topic)?;
        for topic in [Some(topic.to_owned()), names::dead_letters(topic)].into_iter().flatten() {
            match self.call(&topic, self.context.delete_stream(&topic)).await {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Invalid => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Nats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The address is left out, since it may contain a password.
        f.debug_struct("Nats")
            .field("partitions", &self.partitions)
            .field("retention", &self.retention)
            .field("redelivery", &self.redelivery)
            .field("deliveries", &self.deliveries)
            .finish_non_exhaustive()
    }
}
