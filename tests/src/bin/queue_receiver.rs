//! A receiver of a topic that holds its messages, until it is killed.
//!
//! The command `queue_receiver SERVICE TOPIC SUBSCRIPTION COUNT` writes `holds COUNT` once it holds so many
//! messages.

use bertha_core::{Connection, Error, ErrorKind};
use bertha_queues::{Service, Topic};
#[cfg(any(feature = "sqs", feature = "azure-queue", feature = "google-pubsub"))]
use bertha_tests::servers;
use std::io::Write;
#[cfg(any(
    feature = "nats",
    feature = "kafka",
    feature = "redis-streams",
    feature = "sqs",
    feature = "azure-queue"
))]
use std::time::Duration;

/// Time after which the tests' impatient clients get a message again.
#[cfg(any(
    feature = "nats",
    feature = "kafka",
    feature = "redis-streams",
    feature = "sqs",
    feature = "azure-queue"
))]
const IMPATIENT: Duration = Duration::from_secs(1);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [service, topic, subscription, count] = &arguments[..] else {
        return Err(invalid("usage: queue_receiver SERVICE TOPIC SUBSCRIPTION COUNT".into()));
    };
    let count = count.parse().map_err(|_| invalid(format!("{count} is no number")))?;
    let asked = Asked { topic, subscription, count };
    // The part in front of the first colon names the service.
    match service.split_once(':') {
        Some(("memory", _)) => hold(bertha_queues::MemoryQueue::new(), asked).await,
        #[cfg(feature = "sqs")]
        Some(("sqs", endpoint)) => hold(servers::sqs(endpoint).redelivery(IMPATIENT), asked).await,
        #[cfg(feature = "sqs")]
        Some(("sns", endpoint)) => {
            hold(servers::sqs(endpoint).through_sns().redelivery(IMPATIENT), asked).await
        }
        #[cfg(feature = "azure-queue")]
        Some(("azure-queue", address)) => {
            hold(servers::azure_queue(address)?.redelivery(IMPATIENT), asked).await
        }
        #[cfg(feature = "google-pubsub")]
        Some(("pubsub", host)) => hold(servers::pubsub(host)?, asked).await,
        #[cfg(feature = "nats")]
        Some(("nats", address)) => {
            hold(bertha_queues::nats::Nats::connect(address).await?.redelivery(IMPATIENT), asked).await
        }
        #[cfg(feature = "nats")]
        Some(("nats-by-key", address)) => {
            let nats = bertha_queues::nats::Nats::connect(address).await?;
            hold(nats.redelivery(IMPATIENT).ordered_by_key(8), asked).await
        }
        #[cfg(feature = "kafka")]
        Some(("kafka", brokers)) => {
            hold(bertha_queues::kafka::Kafka::connect(brokers).await?.session_timeout(IMPATIENT), asked).await
        }
        #[cfg(feature = "redis-streams")]
        Some(("redis", address)) => {
            hold(bertha_queues::redis::RedisStreams::connect(address).await?.redelivery(IMPATIENT), asked)
                .await
        }
        _ => Err(invalid(format!("{service} is no service that this program was built with"))),
    }
}

struct Asked<'a> {
    topic: &'a str,
    subscription: &'a str,
    count: usize,
}

async fn hold(service: impl Service, asked: Asked<'_>) -> Result<(), Error> {
    let Asked { topic, subscription, count } = asked;
    let receiver = Topic::new(service, topic).receiver(subscription).await?;
    let mut held = Vec::new();
    while held.len() < count {
        held.push(receiver.recv().await?);
    }
    writeln!(std::io::stdout(), "holds {count}").map_err(Error::from)?;
    std::future::pending().await
}

fn invalid(what: String) -> Error {
    Error::new(ErrorKind::Invalid, what)
}
