//! The common part of a process's clients.

use super::failure::unreachable;
use bertha_core::Error;
use parking_lot::Mutex;
use rdkafka::ClientContext;
use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use std::sync::Arc;

/// A receiver of reports that a client makes on its own.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reports {
    /// The text of a broker that last did not accept the client.
    refusal: Arc<Mutex<Option<String>>>,
}

impl Reports {
    pub(crate) fn refusal(&self) -> Option<String> {
        self.refusal.lock().clone()
    }
}

impl ClientContext for Reports {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        match level {
            RDKafkaLogLevel::Emerg | RDKafkaLogLevel::Alert | RDKafkaLogLevel::Critical => {
                tracing::error!(facility, "{message}");
            }
            RDKafkaLogLevel::Error | RDKafkaLogLevel::Warning => tracing::warn!(facility, "{message}"),
            _ => tracing::debug!(facility, "{message}"),
        }
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(%error, reason, "Kafka");
        let refused = [RDKafkaErrorCode::Authentication, RDKafkaErrorCode::SSL];
        if error.rdkafka_error_code().is_some_and(|code| refused.contains(&code)) {
            *self.refusal.lock() = Some(reason.to_owned());
        }
    }
}

/// Returns the settings of all clients, which the application's own settings override.
pub(crate) fn settings(brokers: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", brokers)
        // A broker that comes back is found soon.
        .set("reconnect.backoff.ms", "50")
        .set("reconnect.backoff.max.ms", "1000")
        // A broker that hangs is given up. The time must not be less than the broker may take to answer.
        .set("socket.timeout.ms", "10000")
        .set("message.max.bytes", "1048588");
    config
}

/// Runs blocking calls of the library on a thread where they hold up no task.
pub(crate) async fn blocking<T: Send + 'static>(
    call: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    match tokio::task::spawn_blocking(call).await {
        Ok(result) => result,
        Err(_) => Err(unreachable("the runtime is being shut down")),
    }
}
