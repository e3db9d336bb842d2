//! A service behind an emulator, whose calls take longer than the emulator's.

use bertha_core::Error;
use bertha_queues::{Abilities, Incoming, Outgoing, Publisher, Service, Subscription, Unsent};
use std::time::Duration;
use tokio::time::sleep;

/// The time that the model adds to each call of a FIFO queue of SQS: a part of 300 of a second, after AWS's quota of 300 calls of a kind
/// per second. It is no measurement: AWS publishes no latency, and a quota does not say how long a call takes.
pub(super) const FIFO_CALL: Duration = Duration::from_micros(3_333);

/// A service, or an end of it, in which each call that publishes or receives takes an additional time.
#[derive(Debug, Clone)]
pub(super) struct Slowed<T> {
    inner: T,
    call: Duration,
}

impl<T> Slowed<T> {
    pub(super) fn new(inner: T, call: Duration) -> Self {
        Self { inner, call }
    }
}

impl<S: Service> Service for Slowed<S> {
    type Publisher = Slowed<S::Publisher>;
    type Subscription = Slowed<S::Subscription>;

    fn abilities(&self, topic: &str) -> Abilities {
        self.inner.abilities(topic)
    }

    async fn publisher(&self, topic: &str) -> Result<Self::Publisher, Error> {
        Ok(Slowed::new(self.inner.publisher(topic).await?, self.call))
    }

    async fn subscription(&self, topic: &str, name: &str) -> Result<Self::Subscription, Error> {
        Ok(Slowed::new(self.inner.subscription(topic, name).await?, self.call))
    }

    async fn create(&self, topic: &str) -> Result<(), Error> {
        self.inner.create(topic).await
    }

    async fn delete(&self, topic: &str) -> Result<(), Error> {
        self.inner.delete(topic).await
    }
}

impl<P: Publisher> Publisher for Slowed<P> {
    async fn publish(&self, burst: &[Outgoing<'_>]) -> Result<Vec<Unsent>, Error> {
        sleep(self.call).await;
        self.inner.publish(burst).await
    }

    async fn close(&self) -> Result<(), Error> {
        self.inner.close().await
    }
}

impl<S: Subscription> Subscription for Slowed<S> {
    type Receipt = S::Receipt;

    /// Waits before the call and not behind it, since a caller that goes away would lose what had come.
    async fn receive(&self, limit: usize, wait: Duration) -> Result<Vec<Incoming<S::Receipt>>, Error> {
        sleep(self.call).await;
        self.inner.receive(limit, wait).await
    }

    async fn acknowledge(&self, receipts: &[S::Receipt]) -> Result<(), Error> {
        self.inner.acknowledge(receipts).await
    }

    async fn give_back(&self, receipts: &[S::Receipt]) -> Result<(), Error> {
        self.inner.give_back(receipts).await
    }

    async fn give_back_unseen(&self, receipts: &[S::Receipt]) -> Result<(), Error> {
        self.inner.give_back_unseen(receipts).await
    }

    async fn close(&self) -> Result<(), Error> {
        self.inner.close().await
    }
}
