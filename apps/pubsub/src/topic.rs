//! Topics of messaging services: a service is one line, and all else is the same.

use crate::history::Journal;
use crate::participant::{Message, Part, Use, over};
use crate::store::{Store, built_without};
use bertha_chunnels::{OrderedByKey, Postcard, Serialize, ServiceOrdered};
use bertha_core::{Error, ErrorKind, NumParticipantsAtMost, make_stack, select};
use bertha_queue::{MemoryQueue, Ordering, Service, Topic};
use std::sync::OnceLock;
use tokio::io::AsyncBufRead;

/// The name of the subscription that all receivers share.
const SUBSCRIPTION: &str = "pubsub";

/// The partitions of a topic in NATS: so many messages with keys are worked on at once.
#[cfg(feature = "nats")]
const PARTITIONS: usize = 8;

/// Takes part in a topic of the service at an address.
pub(crate) async fn take_part(
    part: Part,
    address: &str,
    store: Store,
    commands: impl AsyncBufRead + Send + Unpin,
    journal: Journal,
) -> Result<(), Error> {
    let is_ordered = !part.unordered;
    let (scheme, rest) = address.split_once(':').unwrap_or((address, ""));
    // The rest of the address is used by some services alone.
    let _ = rest;
    match scheme {
        "memory" => {
            let service = memory().ordering(if is_ordered { Ordering::ByKey } else { Ordering::None });
            on(service, part, store, commands, journal).await
        }
        #[cfg(feature = "nats")]
        "nats" | "tls" => {
            let service = bertha_queue_nats::Nats::connect(address).await?;
            let service = if is_ordered { service.ordered_by_key(PARTITIONS) } else { service };
            on(service, part, store, commands, journal).await
        }
        #[cfg(feature = "kafka")]
        "kafka" => {
            let service = bertha_queue_kafka::Kafka::connect(rest.trim_start_matches('/')).await?;
            on(service, part, store, commands, journal).await
        }
        #[cfg(feature = "redis-streams")]
        "redis" | "rediss" => {
            let service = bertha_queue_redis::RedisStreams::connect(address).await?;
            on(service, part, store, commands, journal).await
        }
        #[cfg(feature = "sqs")]
        "sqs" => {
            let service = bertha_queue_sqs::Sqs::connect().await;
            let service = if is_ordered { service.fifo() } else { service };
            on(service, part, store, commands, journal).await
        }
        #[cfg(feature = "pubsub")]
        "pubsub" => {
            let service = bertha_queue_pubsub::PubSub::from_env()?;
            let service = if is_ordered { service.ordered() } else { service };
            on(service, part, store, commands, journal).await
        }
        #[cfg(feature = "azure-queue")]
        "azure" => {
            let service = bertha_queue_azure::AzureQueue::from_env()?;
            on(service, part, store, commands, journal).await
        }
        other => Err(unknown(other)),
    }
}

/// The error for an address whose scheme is of no service that was built in.
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

/// The service in the memory of this process: one for all participants that run in it.
fn memory() -> MemoryQueue {
    static SERVICE: OnceLock<MemoryQueue> = OnceLock::new();
    SERVICE.get_or_init(MemoryQueue::new).clone()
}

/// Takes part on any service: the order is the single receiver's, or the service's once there are more participants (thesis, Listing 3.5).
async fn on(
    service: impl Service,
    part: Part,
    store: Store,
    commands: impl AsyncBufRead + Send + Unpin,
    journal: Journal,
) -> Result<(), Error> {
    let topic = Topic::new(service, part.topic.to_string());
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
    over(make_stack!(Serialize::<Message, Postcard>::new(), order), group, part, store, commands, journal)
        .await
}
