//! The Chunnel itself.

use super::PaceConnection;
use bertha_core::token_bucket::Rate;
use bertha_core::{Buf, Carries, Chunnel, ConnectContext, Error, Identity};

/// Sends at a bounded rate. See the [module](crate::pace).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Identity)]
#[chunnel(apart = 0, one_sided)]
pub struct Pace {
    /// The rate and the burst, in bytes.
    rate: Rate,
}

impl Pace {
    /// Makes a Chunnel that sends at `rate` bytes per second, at least one, on each connection. After an idle
    /// time the bytes of two milliseconds are sent at once, since timers are hardly finer, and at least
    /// 2,000.
    pub fn new(rate: u64) -> Self {
        let per_second = rate.max(1);
        Self { rate: Rate { per_second, burst: (per_second / 500).max(2_000) } }
    }

    /// Sets the number of bytes that are sent at once after an idle time, and at the start. At least one,
    /// which means one message at a time.
    #[must_use]
    pub fn burst(mut self, bytes: u64) -> Self {
        self.rate.burst = bytes.max(1);
        self
    }
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Pace {
    type Connection = PaceConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        let connection = PaceConnection::new(inner, self.rate);
        context.observes(connection.observed());
        Ok(connection)
    }
}
