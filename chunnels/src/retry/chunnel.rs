//! The Chunnel itself.

use super::{Correlated, Limits, RetryConnection};
use bertha_core::{Chunnel, ConnectContext, Connection, Error, Identity};

/// Sends requests again until their replies arrive. See the [module](crate::retry).
///
/// By default 256 requests may wait for a reply, each request is sent at most ten times, the first time-out
/// is 100 ms, and later time-outs are from 10 ms beyond the round trip to 1 s.
#[derive(Debug, Clone, Copy, Default, Identity)]
#[chunnel(one_sided)]
pub struct Retry {
    limits: Limits,
}

impl Retry {
    /// Makes a Chunnel with the default limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the maximum number of requests that wait for a reply; further calls of `send` wait.
    #[must_use]
    pub fn window(mut self, requests: usize) -> Self {
        self.limits.window = requests;
        self
    }

    /// Sets the number of times that a request is sent before it is given up; at least one.
    #[must_use]
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.limits.attempts = attempts;
        self
    }
}

impl<Inner: Connection<Data: Correlated + Clone>> Chunnel<Inner> for Retry {
    type Connection = RetryConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        let vain = context.counts_drops("Retry", "to no request");
        let connection = RetryConnection::new(inner, self.limits, vain);
        context.observes(connection.observed());
        Ok(connection)
    }
}
