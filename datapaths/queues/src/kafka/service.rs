//! The service.

use super::clients::{Reports, blocking, settings};
use super::failure::{failure, invalid, of_code, unauthenticated, unreachable};
use super::publisher::KafkaPublisher;
use super::subscription::{KafkaSubscription, Member};
use crate::{Abilities, Ordering, Service};
use bertha_core::{Error, ErrorKind};
use futures_util::FutureExt;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::config::{ClientConfig, FromClientConfigAndContext};
use rdkafka::consumer::{CommitMode, Consumer, StreamConsumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use rdkafka::producer::{FutureProducer, Producer};
use rdkafka::{Offset, TopicPartitionList};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time limit of connecting, and of operations that happen once for a topic or a subscription.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Time for which a single question to the broker waits before other causes of its silence are checked.
const QUESTION: Duration = Duration::from_millis(500);

/// Largest number of messages in a call.
const BATCH: usize = 1000;

/// Largest number of bytes in a call that publishes.
const BATCH_BYTES: usize = 16 << 20;

/// Number of bytes of the client's limit that a message may not use, since its envelope counts as well.
const FRAME: usize = 588;

/// Brokers of Kafka. Clones are cheap and share the clients that publish and that create topics; each
/// receiver is a client of its own.
#[derive(Clone)]
pub struct Kafka {
    config: ClientConfig,
    reports: Reports,
    producer: FutureProducer<Reports>,
    admin: Arc<AdminClient<Reports>>,
    partitions: u16,
    session_timeout: Duration,
}

impl Kafka {
    /// Connects to a cluster by the addresses of some of its brokers, `host:port`, separated by commas.
    ///
    /// # Errors
    /// [`Unauthenticated`](bertha_core::ErrorKind::Unauthenticated) if the brokers do not accept the credentials;
    /// [`Unreachable`](bertha_core::ErrorKind::Unreachable) after ten seconds without an answer; [`Invalid`](bertha_core::ErrorKind::Invalid) for settings that the client library
    /// does not accept.
    pub async fn connect(brokers: &str) -> Result<Self, Error> {
        Self::with_config(brokers, []).await
    }

    /// Connects with settings of librdkafka, as its documentation names them.
    ///
    /// # Errors
    /// Errors of [`connect`](Self::connect).
    pub async fn with_config<'a>(
        brokers: &str,
        own: impl IntoIterator<Item = (&'a str, &'a str)> + Send,
    ) -> Result<Self, Error> {
        let own: Vec<_> = own.into_iter().collect();
        let config = settings(brokers);
        let mut publishing = config.clone();
        publishing
            .set("enable.idempotence", "true")
            .set("message.timeout.ms", "30000")
            // Messages are sent as soon as they are there; a burst is there at once.
            .set("linger.ms", "0")
            // Other clients of Kafka use this partitioner, so that all agree on the partition of a key.
            .set("partitioner", "murmur2_random");
        let mut config = config;
        for (name, value) in own {
            publishing.set(name, value);
            config.set(name, value);
        }
        let reports = Reports::default();
        let producer: FutureProducer<Reports> =
            FutureProducer::from_config_and_context(&publishing, reports.clone()).map_err(failure)?;
        let admin = AdminClient::from_config_and_context(&config, reports.clone()).map_err(failure)?;
        let kafka = Self {
            config,
            reports,
            producer,
            admin: Arc::new(admin),
            partitions: 8,
            session_timeout: Duration::from_secs(10),
        };
        kafka.check_connection().await?;
        Ok(kafka)
    }

    /// Sets the number of partitions of a new topic, which bounds the number of receivers of a subscription
    /// that get messages. 8 by default.
    ///
    /// # Panics
    /// Panics if `partitions` is zero.
    #[must_use]
    pub fn partitions(mut self, partitions: u16) -> Self {
        assert!(partitions > 0, "a topic has at least one partition");
        self.partitions = partitions;
        self
    }

    /// Sets the time after which a silent receiver counts as dead, and its partitions go to others. Ten
    /// seconds by default; brokers allow no less than their `group.min.session.timeout.ms`, six seconds.
    #[must_use]
    pub fn session_timeout(mut self, timeout: Duration) -> Self {
        self.session_timeout = timeout;
        self
    }

    /// Waits until a broker has answered.
    async fn check_connection(&self) -> Result<(), Error> {
        let producer = self.producer.clone();
        let reports = self.reports.clone();
        blocking(move || {
            let deadline = Instant::now() + ANSWER_TIMEOUT;
            while Instant::now() < deadline {
                if producer.client().fetch_cluster_id(QUESTION).is_some() {
                    return Ok(());
                }
                if let Some(text) = reports.refusal() {
                    return Err(unauthenticated(&text));
                }
            }
            // Brokers that require a login end a connection without a login, and report nothing.
            Err(unreachable(
                "no broker has answered for ten seconds; does it want TLS or a login, by security.protocol?",
            ))
        })
        .await
    }

    /// Returns the settings of a member of the group: the application's own settings, and defaults for what
    /// they leave open.
    fn receiving(&self, group: &str) -> ClientConfig {
        let session = self.session_timeout.as_millis();
        let (session, heartbeat) = (session.to_string(), (session / 3).max(1).to_string());
        let defaults = [
            ("group.id", group),
            ("enable.auto.commit", "false"),
            ("auto.offset.reset", "earliest"),
            ("allow.auto.create.topics", "false"),
            // Receivers that stay keep their partitions, and the messages that they work on.
            ("partition.assignment.strategy", "cooperative-sticky"),
            ("session.timeout.ms", &session),
            ("heartbeat.interval.ms", &heartbeat),
            // A step back waits for the request that is at the broker.
            ("fetch.wait.max.ms", "100"),
            ("fetch.error.backoff.ms", "100"),
            // The setting bounds what the client reads ahead.
            ("queued.max.messages.kbytes", "16384"),
            // When the bound is reached, the client looks again after this time. With the default of a
            // second, a fast receiver would have taken everything long before.
            ("fetch.queue.backoff.ms", "10"),
        ];
        // The value is copied from the configuration itself: the settings that `config_map` lists have a
        // placeholder for each password.
        let mut config = self.config.clone();
        for (name, value) in defaults {
            if config.get(name).is_none() {
                config.set(name, value);
            }
        }
        config
    }

    /// Returns the time after which other receivers have the messages of a receiver that has gone: its
    /// session ends, and they learn of it by the answer to a heartbeat.
    fn redelivery(&self) -> Duration {
        let own = self.config.get("session.timeout.ms").and_then(|time| time.parse().ok());
        let session = own.map_or(self.session_timeout, Duration::from_millis);
        session + session / 3
    }

    /// Returns the number of a topic's partitions; `None` if there is no such topic, or not all of its
    /// partitions can be used yet.
    async fn partitions_of(&self, topic: &str) -> Result<Option<i32>, Error> {
        let producer = self.producer.clone();
        let topic = topic.to_owned();
        blocking(move || {
            // The client may send a question over a connection that it is giving up; such a question is never
            // answered.
            let deadline = Instant::now() + ANSWER_TIMEOUT;
            let metadata = loop {
                match producer.client().fetch_metadata(Some(&topic), QUESTION) {
                    Err(KafkaError::MetadataFetch(Code::OperationTimedOut)) if Instant::now() < deadline => {}
                    answer => break answer.map_err(failure)?,
                }
            };
            let Some(found) = metadata.topics().first() else { return Ok(None) };
            let errors = std::iter::once(found.error())
                .chain(found.partitions().iter().map(|partition| partition.error()));
            match errors.flatten().next().map(Code::from) {
                None => {}
                Some(Code::UnknownTopicOrPartition | Code::UnknownTopic | Code::LeaderNotAvailable) => {
                    return Ok(None);
                }
                Some(code) => return Err(of_code(Some(code), &code.to_string())),
            }
            Ok(i32::try_from(found.partitions().len()).ok().filter(|count| *count > 0))
        })
        .await
    }

    async fn check(&self, topic: &str) -> Result<i32, Error> {
        let partitions = self.partitions_of(topic).await?;
        partitions.ok_or_else(|| invalid(format!("there is no topic `{topic}`; create it")))
    }
}

/// Lets a new group begin with messages that come from now on. A group that has begun, or whose receivers are
/// just beginning, stays as it is.
///
/// The function repeats the question for a while if the broker can't answer yet: the broker learns of a new
/// topic before it stores it.
fn begin(consumer: &StreamConsumer<Member>, topic: &str, partitions: i32) -> Result<(), Error> {
    let deadline = Instant::now() + ANSWER_TIMEOUT;
    loop {
        let error = match try_to_begin(consumer, topic, partitions) {
            Err(error) if error.kind() == ErrorKind::Unreachable => error,
            result => return result,
        };
        if let Some(refusal) = refusal(consumer) {
            return Err(refusal);
        }
        if Instant::now() >= deadline {
            return Err(error);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Returns the broker's refusal of this new member, if there is one. The client repeats its question in spite
/// of a refusal, until the question's time is up, and reports the refusal where messages would arrive.
fn refusal(consumer: &StreamConsumer<Member>) -> Option<Error> {
    let told = std::iter::from_fn(|| consumer.recv().now_or_never());
    told.filter_map(Result::err).map(failure).find(|error| error.kind() == ErrorKind::Unauthenticated)
}

fn try_to_begin(consumer: &StreamConsumer<Member>, topic: &str, partitions: i32) -> Result<(), Error> {
    let mut ends = HashMap::new();
    for partition in not_begun(consumer, topic, 0..partitions)? {
        let (_, end) = consumer.fetch_watermarks(topic, partition, ANSWER_TIMEOUT).map_err(failure)?;
        ends.insert(partition, end);
    }
    let mut new = TopicPartitionList::new();
    // The check is repeated, since another receiver may begin as well: messages that are published after the
    // check are behind these ends, or the ends are not used.
    let still_new = not_begun(consumer, topic, ends.keys().copied())?;
    for (partition, end) in ends.into_iter().filter(|(partition, _)| still_new.contains(partition)) {
        new.add_partition_offset(topic, partition, Offset::Offset(end)).map_err(failure)?;
    }
    if new.count() == 0 {
        return Ok(());
    }
    match consumer.commit(&new, CommitMode::Sync) {
        Err(error) if super::failure::is_of_lost_partition(&error) => Ok(()),
        result => result.map_err(failure),
    }
}

/// Returns the partitions for which the group does not know where to begin.
fn not_begun(
    consumer: &StreamConsumer<Member>,
    topic: &str,
    partitions: impl Iterator<Item = i32>,
) -> Result<Vec<i32>, Error> {
    let mut asked = TopicPartitionList::new();
    for partition in partitions {
        asked.add_partition(topic, partition);
    }
    if asked.count() == 0 {
        return Ok(Vec::new());
    }
    let known = consumer.committed_offsets(asked, QUESTION).map_err(failure)?;
    let elements = known.elements();
    let new = elements.iter().filter(|element| element.offset() == Offset::Invalid);
    Ok(new.map(|element| element.partition()).collect())
}

impl Service for Kafka {
    type Publisher = KafkaPublisher;
    type Subscription = KafkaSubscription;

    fn abilities(&self, _: &str) -> Abilities {
        let longest = self.config.get("message.max.bytes").and_then(|bytes| bytes.parse::<usize>().ok());
        let max_message = longest.unwrap_or(1 << 20).saturating_sub(FRAME);
        Abilities {
            service: "Kafka",
            ordering: Ordering::ByKey,
            multicast: true,
            max_message,
            publish_batch: BATCH,
            publish_bytes: BATCH_BYTES.max(max_message),
            receive_batch: BATCH,
            acknowledge_batch: BATCH,
            // The time is the default of the broker, which creates topics with it.
            retention: Some(Duration::from_secs(7 * 24 * 60 * 60)),
            redelivery: self.redelivery(),
            dead_letters: false,
            one_by_one: false,
        }
    }

    async fn publisher(&self, topic: &str) -> Result<KafkaPublisher, Error> {
        self.check(topic).await?;
        let producer = self.producer.clone();
        let reports = self.reports.clone();
        Ok(KafkaPublisher { producer, reports, topic: topic.to_owned() })
    }

    async fn subscription(&self, topic: &str, name: &str) -> Result<KafkaSubscription, Error> {
        let partitions = self.check(topic).await?;
        let config = self.receiving(&format!("{name}.{topic}"));
        let topic = topic.to_owned();
        blocking(move || {
            let consumer: StreamConsumer<Member> =
                StreamConsumer::from_config_and_context(&config, Member::default()).map_err(failure)?;
            begin(&consumer, &topic, partitions)?;
            Ok(KafkaSubscription::new(consumer, &topic))
        })
        .await
    }

    async fn create(&self, topic: &str) -> Result<(), Error> {
        // The broker knows the wanted number of replicas.
        let new = NewTopic::new(topic, self.partitions.into(), TopicReplication::Fixed(-1));
        let options = AdminOptions::new().request_timeout(Some(ANSWER_TIMEOUT));
        for result in self.admin.create_topics([&new], &options).await.map_err(failure)? {
            match result {
                Ok(_) | Err((_, Code::TopicAlreadyExists)) => {}
                Err((_, code)) => return Err(of_code(Some(code), &code.to_string())),
            }
        }
        // Brokers learn of the topic a little later.
        let deadline = Instant::now() + ANSWER_TIMEOUT;
        while self.partitions_of(topic).await?.is_none() {
            if Instant::now() > deadline {
                return Err(unreachable("the new topic can't be used yet"));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    async fn delete(&self, topic: &str) -> Result<(), Error> {
        let options = AdminOptions::new().request_timeout(Some(ANSWER_TIMEOUT));
        for result in self.admin.delete_topics(&[topic], &options).await.map_err(failure)? {
            match result {
                Ok(_) | Err((_, Code::UnknownTopicOrPartition)) => {}
                Err((_, code)) => return Err(of_code(Some(code), &code.to_string())),
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Kafka {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The settings are left out, since they may contain a password.
        f.debug_struct("Kafka")
            .field("partitions", &self.partitions)
            .field("session_timeout", &self.session_timeout)
            .finish_non_exhaustive()
    }
}
