//! The Chunnel itself.

use super::PaceConnection;
use bertha_core::{Buf, Carries, Chunnel, ConnectContext, Error, Identity};

/// Sends at a bounded rate. See the [module](crate::pace).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Identity)]
#[chunnel(one_sided)]
pub struct Pace {
    limits: Limits,
}

/// What goes per second, and at once after an idle time, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) rate: u64,
    pub(super) burst: u64,
}

impl Pace {
    /// At `rate` bytes per second, at least one, for each connection. After an idle time two milliseconds' worth goes at
    /// once, since timers are hardly finer, and two kilobytes at least.
    pub fn new(rate: u64) -> Self {
        let rate = rate.max(1);
        Self { limits: Limits { rate, burst: (rate / 500).max(2_000) } }
    }

    /// Lets `bytes` go at once after an idle time, and at the start. At least one, which is one message at a time.
    #[must_use]
    pub fn burst(mut self, bytes: u64) -> Self {
        self.limits.burst = bytes.max(1);
        self
    }
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Pace {
    type Connection = PaceConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        _: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        Ok(PaceConnection::new(inner, self.limits))
    }
}
