//! Topics of messaging services: each service has a line of its own, and all other code is common.

use crate::commands::Commands;
use crate::journal::Journal;
use crate::participant::{Message, Part, Use, over};
use crate::store::{Store, built_without};
use bertha_chunnels::{OrderedByKey, Postcard, Serialize, ServiceOrdered};
use bertha_core::{Error, ErrorKind, NumParticipantsAtMost, make_stack, select};
use bertha_queues::{MemoryQueue, Ordering, Service, Topic};
use std::sync::OnceLock;
use tokio::io::AsyncBufRead;

/// Name of the subscription that all receivers share.
const SUBSCRIPTION: &str = "pubsub";

/// Number of partitions of a topic in NATS, which is the number of messages with keys that are worked on at
/// once.
#[cfg(feature = "nats")]
const PARTITIONS: usize = 8;

/// Work on any messaging service.
trait OnService {
    async fn on(self, service: impl Service) -> Result<(), Error>;
}

/// Does the work on the service at an address, whose topics are ordered by key or not at all.
async fn at(address: &str, is_ordered: bool, work: impl OnService) -> Result<(), Error> {
    let (scheme, rest) = address.split_once(':').unwrap_or((address, ""));
    // Only some services use the rest of the address.
    let _ = rest;
    match scheme {
        "memory" => {
            work.on(memory().ordering(if is_ordered { Ordering::ByKey } else { Ordering::None })).await
        }
        #[cfg(feature = "nats")]
        "nats" | "tls" => {
            let service = bertha_queues::nats::Nats::connect(address).await?;
            work.on(if is_ordered { service.ordered_by_key(PARTITIONS) } else { service }).await
        }
        #[cfg(feature = "kafka")]
        "kafka" => work.on(crate::kafka::connect(rest).await?).await,
        #[cfg(feature = "redis-streams")]
        "redis" | "rediss" => work.on(bertha_queues::redis::RedisStreams::connect(address).await?).await,
        #[cfg(feature = "sqs")]
        "sqs" => {
            let service = bertha_queues::sqs::Sqs::connect().await;
            work.on(if is_ordered { service.fifo() } else { service }).await
        }
        #[cfg(feature = "google-pubsub")]
        "pubsub" => {
            let service = bertha_queues::google::PubSub::from_env()?;
            work.on(if is_ordered { service.ordered() } else { service }).await
        }
        #[cfg(feature = "azure-queue")]
        "azure" => work.on(bertha_queues::azure::AzureQueue::from_env()?).await,
        other => Err(unknown(other)),
    }
}

/// Takes part in a topic of the service at an address.
pub(crate) async fn take_part(
    part: Part,
    address: &str,
    store: Store,
    commands: Commands<impl AsyncBufRead + Send + Unpin>,
    journal: Journal,
) -> Result<(), Error> {
    let is_ordered = !part.unordered;
    at(address, is_ordered, Joining { part, store, commands, journal }).await
}

/// Creates a topic, which must not exist.
///
/// # Errors
/// [`Invalid`](ErrorKind::Invalid) if the topic exists: another program may need it.
pub(crate) async fn create(name: &str, address: &str, is_ordered: bool) -> Result<(), Error> {
    at(address, is_ordered, Creating { name }).await
}

/// Deletes a topic with its messages, if it exists.
pub(crate) async fn delete(name: &str, address: &str, is_ordered: bool) -> Result<(), Error> {
    at(address, is_ordered, Deleting { name }).await
}

struct Creating<'a> {
    name: &'a str,
}

impl OnService for Creating<'_> {
    async fn on(self, service: impl Service) -> Result<(), Error> {
        let Self { name } = self;
        match service.publisher(name).await {
            Err(error) if error.kind() == ErrorKind::Invalid => service.create(name).await,
            Err(error) => Err(error),
            Ok(_) => {
                let what = format!(
                    "there is a topic `{name}` already, and a run deletes its own at the end; name another one by --topic"
                );
                Err(Error::new(ErrorKind::Invalid, what))
            }
        }
    }
}

struct Deleting<'a> {
    name: &'a str,
}

impl OnService for Deleting<'_> {
    async fn on(self, service: impl Service) -> Result<(), Error> {
        service.delete(self.name).await
    }
}

/// Returns the error for an address whose scheme belongs to no service of this build.
fn unknown(scheme: &str) -> Error {
    let feature = match scheme {
        "nats" | "tls" => "nats",
        "kafka" => "kafka",
        "redis" | "rediss" => "redis-streams",
        "sqs" => "sqs",
        "pubsub" => "pubsub",
        "azure" => "azure-queue",
        _ => {
            let what = "the service has to be nats://host:port, kafka://host:port, redis://host:port, sqs://, pubsub://, azure:// or memory:";
            return Error::new(ErrorKind::Invalid, what);
        }
    };
    built_without(feature)
}

/// Returns the service in the memory of this process: a single service for all participants that run in it.
fn memory() -> MemoryQueue {
    static SERVICE: OnceLock<MemoryQueue> = OnceLock::new();
    SERVICE.get_or_init(MemoryQueue::new).clone()
}

/// Work that takes part in a topic: the order is the single receiver's, or the service's once there are more
/// participants (thesis, Listing 3.5).
struct Joining<C> {
    part: Part,
    store: Store,
    commands: Commands<C>,
    journal: Journal,
}

impl<C: AsyncBufRead + Send + Unpin> OnService for Joining<C> {
    async fn on(self, service: impl Service) -> Result<(), Error> {
        let Self { part, store, commands, journal } = self;
        let topic = Topic::new(service, part.topic.to_string()).acknowledge_by_dropping();
        topic.create().await?;
        let group = topic.group(SUBSCRIPTION);
        let group = match part.purpose {
            Use::Publish => group.publisher(),
            Use::Receive => group.receiver(),
            Use::Both => group,
        };
        if part.unordered {
            let stack = make_stack!(Serialize::<Message, Postcard>::new());
            return over(stack, group, part, store, commands, journal).await;
        }
        let order = select!(
            OrderedByKey::new(Message::key),
            ServiceOrdered::new(Message::key);
            prefer 0 if NumParticipantsAtMost(part.at_most)
        );
        let stack = make_stack!(Serialize::<Message, Postcard>::new(), order);
        over(stack, group, part, store, commands, journal).await
    }
}
