//! The Chunnel itself.

use super::FaultConnection;
use super::rates::Rates;
use bertha_core::{Buf, Carries, Chunnel, ConnectContext, Error, Identity};
use std::time::Duration;

/// Injects faults into the messages that are sent. See the [module](crate::fault). Rates are probabilities per message, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Identity)]
#[chunnel(one_sided)]
pub struct Fault {
    seed: u64,
    rates: Rates,
}

impl Fault {
    /// Makes a Chunnel that injects no fault until rates are set.
    pub fn new(seed: u64) -> Self {
        let delay = Duration::ZERO;
        let detour = Duration::from_millis(10);
        Self { seed, rates: Rates { loss: 0.0, duplication: 0.0, reordering: 0.0, delay, detour } }
    }

    /// Loses messages at this rate.
    #[must_use]
    pub fn loss(mut self, rate: f64) -> Self {
        self.rates.loss = rate;
        self
    }

    /// Sends messages twice at this rate.
    #[must_use]
    pub fn duplication(mut self, rate: f64) -> Self {
        self.rates.duplication = rate;
        self
    }

    /// Delays messages at this rate by up to `detour`, so that later messages overtake them.
    #[must_use]
    pub fn reordering(mut self, rate: f64, detour: Duration) -> Self {
        (self.rates.reordering, self.rates.detour) = (rate, detour);
        self
    }

    /// Delays every message by this time.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.rates.delay = delay;
        self
    }
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Fault {
    type Connection = FaultConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        Ok(FaultConnection::new(inner, self.seed, self.rates, context.counts_drops("Fault", "on purpose")))
    }
}
