//! A receiver of a topic that holds its messages, until it is killed.
//!
//! `queue_receiver SERVICE TOPIC SUBSCRIPTION COUNT` says `holds COUNT` once it has so many.

use bertha_core::{Connection, Error, ErrorKind};
use bertha_queue::{Service, Topic};
#[cfg(any(feature = "sqs", feature = "azure-queue", feature = "pubsub"))]
use bertha_tests::servers;
use std::io::Write;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [service, topic, subscription, count] = &arguments[..] else {
        return Err(invalid("usage: queue_receiver SERVICE TOPIC SUBSCRIPTION COUNT".into()));
    };
    let count = count.parse().map_err(|_| invalid(format!("{count} is no number")))?;
    let asked = Asked { topic, subscription, count };
    // What is in front of the first colon names the service.
    match service.split_once(':') {
        Some(("memory", _)) => hold(bertha_queue::MemoryQueue::new(), asked).await,
        #[cfg(feature = "sqs")]
        Some(("sqs", endpoint)) => hold(servers::sqs(endpoint).redeliver_after(DEADLINE), asked).await,
        #[cfg(feature = "sqs")]
        Some(("sns", endpoint)) => {
            hold(servers::sqs(endpoint).through_sns().redeliver_after(DEADLINE), asked).await
        }
        #[cfg(feature = "azure-queue")]
        Some(("azure-queue", address)) => {
            hold(servers::azure_queue(address)?.redeliver_after(DEADLINE), asked).await
        }
        #[cfg(feature = "pubsub")]
        Some(("pubsub", host)) => hold(servers::pubsub(host)?, asked).await,
        _ => Err(invalid(format!("{service} is no service that this program was built with"))),
    }
}

/// The time after which a service that can choose delivers messages of a killed receiver again.
#[cfg(any(feature = "sqs", feature = "azure-queue"))]
const DEADLINE: std::time::Duration = std::time::Duration::from_secs(1);

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
