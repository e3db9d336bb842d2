//! Messaging services by their addresses.

use bertha::queue::{MemoryQueue, Service};
use bertha::{Error, ErrorKind};
use std::sync::OnceLock;

/// Work on any messaging service.
pub(super) trait OnService {
    /// The result of the work.
    type Output;

    fn on(self, service: impl Service) -> impl Future<Output = Result<Self::Output, Error>> + Send;
}

/// Does the work on the service at an address.
///
/// # Errors
/// Errors of the work and of the service; [`Unavailable`](ErrorKind::Unavailable) for a service that this build does not have.
pub(super) async fn run<W: OnService + Send>(address: &str, work: W) -> Result<W::Output, Error> {
    let (scheme, rest) = address.split_once(':').unwrap_or((address, ""));
    // Only some services use the rest of the address.
    let _ = rest;
    match scheme {
        "memory" => work.on(memory()).await,
        #[cfg(feature = "nats")]
        "nats" => work.on(bertha::queue::Nats::connect(address).await?).await,
        #[cfg(feature = "kafka")]
        "kafka" => work.on(bertha::queue::Kafka::connect(rest.trim_start_matches('/')).await?).await,
        #[cfg(feature = "redis-streams")]
        "redis" | "rediss" => work.on(bertha::queue::RedisStreams::connect(address).await?).await,
        #[cfg(feature = "sqs")]
        "sqs" => work.on(bertha::queue::Sqs::connect().await).await,
        #[cfg(feature = "google-pubsub")]
        "pubsub" => work.on(bertha::queue::PubSub::from_env()?).await,
        #[cfg(feature = "azure-queue")]
        "azure" => work.on(bertha::queue::AzureQueue::from_env()?).await,
        other => {
            let what =
                format!("this build has no topics of `{other}`; build it with the feature of the service");
            Err(Error::new(ErrorKind::Unavailable, what))
        }
    }
}

/// Returns the service in the memory of this process, of which there is one.
fn memory() -> MemoryQueue {
    static SERVICE: OnceLock<MemoryQueue> = OnceLock::new();
    SERVICE.get_or_init(MemoryQueue::new).clone()
}
