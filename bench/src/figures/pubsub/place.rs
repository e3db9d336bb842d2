//! The available services, as `scripts/services` names them in the environment.

use super::failed;
use crate::Error;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use bertha_queues::azure::AzureQueue;
use bertha_queues::google::PubSub;
use bertha_queues::kafka::Kafka;
use bertha_queues::nats::Nats;
use bertha_queues::redis::RedisStreams;
use bertha_queues::sqs::Sqs;

/// Addresses of the services; `None` for absent services.
pub(super) struct Places {
    nats: Option<String>,
    kafka: Option<String>,
    redis: Option<String>,
    sqs: Option<String>,
    pubsub: Option<String>,
    azure: Option<String>,
}

/// A service for both Bertha and its client by hand.
pub(super) struct Site<S> {
    pub(super) service: S,
    pub(super) address: String,
    /// Name in rows, with the word server or emulator.
    pub(super) name: &'static str,
}

pub(super) const NATS: &str = "NATS (server)";
pub(super) const KAFKA: &str = "Kafka (server)";
pub(super) const REDIS: &str = "Redis Streams (server)";
pub(super) const SQS: &str = "SQS (emulator: ElasticMQ)";
pub(super) const PUBSUB: &str = "Google Pub/Sub (emulator: pstest)";
pub(super) const AZURE: &str = "Azure Queue Storage (emulator: Azurite)";

/// Name of the project in the emulator of Pub/Sub.
pub(super) const PROJECT: &str = "bertha-bench";

impl Places {
    pub(super) fn from_env() -> Self {
        let at = |variable| std::env::var(variable).ok().filter(|address| !address.is_empty());
        Self {
            nats: at("BERTHA_NATS"),
            kafka: at("BERTHA_KAFKA"),
            redis: at("BERTHA_REDIS"),
            sqs: at("BERTHA_ELASTICMQ"),
            pubsub: at("BERTHA_PUBSUB"),
            azure: at("BERTHA_AZURE_QUEUE"),
        }
    }

    pub(super) async fn nats(&self) -> Result<Option<Site<Nats>>, Error> {
        let Some(address) = self.nats.clone() else { return Ok(None) };
        let service = Nats::connect(&address).await.map_err(failed)?;
        Ok(Some(Site { service, address, name: NATS }))
    }

    pub(super) async fn kafka(&self) -> Result<Option<Site<Kafka>>, Error> {
        let Some(address) = self.kafka.clone() else { return Ok(None) };
        let service = Kafka::connect(&address).await.map_err(failed)?;
        Ok(Some(Site { service, address, name: KAFKA }))
    }

    pub(super) async fn redis(&self) -> Result<Option<Site<RedisStreams>>, Error> {
        let Some(address) = self.redis.clone() else { return Ok(None) };
        let service = RedisStreams::connect(&address).await.map_err(failed)?;
        Ok(Some(Site { service, address, name: REDIS }))
    }

    pub(super) fn sqs(&self) -> Option<Site<Sqs>> {
        let address = self.sqs.clone()?;
        Some(Site { service: Sqs::with_config(&aws(&address)), address, name: SQS })
    }

    pub(super) fn pubsub(&self) -> Result<Option<Site<PubSub>>, Error> {
        let Some(address) = self.pubsub.clone() else { return Ok(None) };
        let service = PubSub::emulator(&address, PROJECT).map_err(failed)?;
        Ok(Some(Site { service, address, name: PUBSUB }))
    }

    pub(super) fn azure(&self) -> Result<Option<Site<AzureQueue>>, Error> {
        let Some(address) = self.azure.clone() else { return Ok(None) };
        let service = AzureQueue::new(&address).map_err(failed)?;
        Ok(Some(Site { service, address, name: AZURE }))
    }
}

/// Returns the configuration for an emulator of AWS, which accepts any credentials.
pub(super) fn aws(endpoint: &str) -> SdkConfig {
    let credentials = Credentials::new("AKIABERTHABENCH", "not a secret", None, None, "bench");
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .endpoint_url(endpoint)
        .region(Region::new("us-east-1"))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .build()
}
