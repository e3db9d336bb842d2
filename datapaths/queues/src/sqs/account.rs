//! The clients of an account, and its credentials.

use super::failure::{Failure, failure};
use aws_config::SdkConfig;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_sqs::config::http::HttpResponse;
use aws_sdk_sqs::config::{ProvideCredentials, SharedCredentialsProvider, SharedHttpClient};
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use bertha_core::{Error, ErrorKind};
use std::time::Duration;

/// The longest time that SQS lets a call wait for messages.
pub(crate) const LONGEST_POLL: Duration = Duration::from_secs(20);

/// Largest number of messages in a call.
pub(crate) const BATCH: usize = 10;

/// Time limit of a call, in addition to its wait for messages. An answer takes milliseconds.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The clients of an account.
///
/// The futures of their calls are boxed where they are awaited: they are large, and lie in the futures of all
/// layers above.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    pub(crate) sqs: aws_sdk_sqs::Client,
    /// Client for calls that wait for messages.
    pub(crate) polling: aws_sdk_sqs::Client,
    pub(crate) sns: aws_sdk_sns::Client,
    credentials: Option<SharedCredentialsProvider>,
}

impl Account {
    pub(crate) fn new(config: &SdkConfig) -> Self {
        let mut config = config.to_builder();
        config.set_retry_config(Some(RetryConfig::disabled()));
        config.set_timeout_config(Some(time_limit(ANSWER_TIMEOUT)));
        let mut config = config.build();
        if config.http_client().is_none() {
            config = config.into_builder().http_client(http_client()).build();
        }
        let polling = aws_sdk_sqs::config::Builder::from(&config)
            .timeout_config(time_limit(LONGEST_POLL + ANSWER_TIMEOUT))
            .build();
        Self {
            sqs: aws_sdk_sqs::Client::new(&config),
            polling: aws_sdk_sqs::Client::from_conf(polling),
            sns: aws_sdk_sns::Client::new(&config),
            credentials: config.credentials_provider(),
        }
    }

    /// Returns the error of a call, by kind. `call` is the permission that it needs, such as
    /// `sqs:SendMessage`.
    pub(crate) async fn failure<E>(&self, call: &str, error: SdkError<E, HttpResponse>) -> Error
    where
        E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    {
        match failure(call, error) {
            Failure::Refused { text, source } => {
                let whose = self.identity().await;
                let text = format!(
                    "{text} (with {whose}); set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, for a user that has the \
                     permission {call}"
                );
                Error::new(ErrorKind::Unauthenticated, text).because(source).at("Sqs")
            }
            Failure::Other(error) => error,
        }
    }

    /// Describes the credentials in use, without their secret.
    async fn identity(&self) -> String {
        let Some(credentials) = &self.credentials else { return "no credentials".into() };
        match credentials.provide_credentials().await {
            Ok(credentials) => format!("the access key {}", credentials.access_key_id()),
            Err(_) => "no credentials".into(),
        }
    }
}

/// Returns a client for HTTP, with TLS by ring.
pub(crate) fn http_client() -> SharedHttpClient {
    aws_smithy_http_client::Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https()
}

fn time_limit(limit: Duration) -> TimeoutConfig {
    TimeoutConfig::builder().connect_timeout(CONNECT_TIMEOUT).operation_attempt_timeout(limit).build()
}
