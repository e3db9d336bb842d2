//! The Chunnel itself.

use super::NagleConnection;
use bertha_core::{Chunnel, ConnectContext, Connection, Error, Identity};
use std::time::Duration;

/// Sends and receives messages in bursts. See the [module](crate::nagle).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Identity)]
#[chunnel(one_sided)]
pub struct Nagle {
    messages: usize,
    wait: Duration,
}

impl Nagle {
    /// Makes a Chunnel that gathers messages while the connection below is busy with earlier messages, up to
    /// 10.
    pub fn new() -> Self {
        Self { messages: 10, wait: Duration::ZERO }
    }

    /// Sends a burst once it has this number of messages, at least one, and asks for the same number when it
    /// receives.
    #[must_use]
    pub fn messages(self, messages: usize) -> Self {
        Self { messages, ..self }
    }

    /// Sends a burst once its first message has waited for this time, or the burst is full. With zero,
    /// Nagle's algorithm, a burst has the messages that were given to `send` while the connection below was
    /// busy, and no message waits only for further messages.
    #[must_use]
    pub fn wait(self, wait: Duration) -> Self {
        Self { wait, ..self }
    }
}

impl Default for Nagle {
    fn default() -> Self {
        Self::new()
    }
}

impl<Inner: Connection> Chunnel<Inner> for Nagle {
    type Connection = NagleConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        let connection = NagleConnection::new(inner, self.messages.max(1), self.wait);
        context.observes(connection.observed());
        Ok(connection)
    }
}
