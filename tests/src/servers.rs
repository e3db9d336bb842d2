//! Clients of the servers that `scripts/services` starts, for tests and for the processes that they start.

#[cfg(any(feature = "azure-queue", feature = "google-pubsub"))]
use bertha_core::Error;

/// Returns SQS and SNS at `endpoint`, with credentials that any fake accepts.
#[cfg(feature = "sqs")]
pub fn sqs(endpoint: &str) -> bertha_queues::sqs::Sqs {
    use aws_credential_types::Credentials;
    use aws_credential_types::provider::SharedCredentialsProvider;
    let credentials = Credentials::new("AKIABERTHATESTS", "not a secret", None, None, "tests");
    let config = bertha_queues::sqs::SdkConfig::builder()
        .behavior_version(aws_config::BehaviorVersion::latest())
        .endpoint_url(endpoint)
        .region(aws_config::Region::new("us-east-1"))
        .credentials_provider(SharedCredentialsProvider::new(credentials));
    bertha_queues::sqs::Sqs::with_config(&config.build())
}

/// Returns the queues of the account at `address`, which contains its signature.
///
/// # Errors
/// Errors of [`AzureQueue::new`](bertha_queues::azure::AzureQueue::new).
#[cfg(feature = "azure-queue")]
pub fn azure_queue(address: &str) -> Result<bertha_queues::azure::AzureQueue, Error> {
    bertha_queues::azure::AzureQueue::new(address)
}

/// Returns the topics of a project in the emulator at `host`.
///
/// # Errors
/// Errors of [`PubSub::emulator`](bertha_queues::google::PubSub::emulator).
#[cfg(feature = "google-pubsub")]
pub fn pubsub(host: &str) -> Result<bertha_queues::google::PubSub, Error> {
    bertha_queues::google::PubSub::emulator(host, "bertha-tests")
}

/// Returns the topics of a project, with an API key; the fake knows some keys.
///
/// # Errors
/// Errors of [`PubSub::with_credentials`](bertha_queues::google::PubSub::with_credentials).
#[cfg(feature = "google-pubsub")]
pub fn pubsub_with_key(host: &str, key: &str) -> Result<bertha_queues::google::PubSub, Error> {
    let credentials = google_cloud_auth::credentials::api_key_credentials::Builder::new(key).build();
    bertha_queues::google::PubSub::with_credentials(&format!("http://{host}"), "bertha-tests", credentials)
}
