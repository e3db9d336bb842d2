//! A service that counts its calls, below any stack.

use bertha_core::Error;
use bertha_queues::{Abilities, Incoming, Outgoing, Publisher, Service, Subscription, Unsent};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Number of calls so far, and number of calls among them that looked into an empty queue, which depends on
/// the moment of the look.
#[derive(Debug, Clone, Default)]
pub(super) struct Count(Arc<[AtomicU64; 2]>);

impl Count {
    /// Counts a call.
    pub(super) fn call(&self) {
        self.0[0].fetch_add(1, Relaxed);
    }

    /// Counts a call that has received nothing.
    pub(super) fn empty_look(&self) {
        self.0[1].fetch_add(1, Relaxed);
    }

    pub(super) fn calls(&self) -> u64 {
        self.0[0].load(Relaxed)
    }

    pub(super) fn empty_looks(&self) -> u64 {
        self.0[1].load(Relaxed)
    }
}

/// A service that counts the calls to publish, receive, acknowledge and give back of the wrapped service.
pub(super) struct Counted<S> {
    pub(super) inner: S,
    pub(super) count: Count,
}

impl<S: Service> Service for Counted<S> {
    type Publisher = Counted<S::Publisher>;
    type Subscription = Counted<S::Subscription>;

    fn abilities(&self, topic: &str) -> Abilities {
        self.inner.abilities(topic)
    }

    async fn publisher(&self, topic: &str) -> Result<Self::Publisher, Error> {
        Ok(Counted { inner: self.inner.publisher(topic).await?, count: self.count.clone() })
    }

    async fn subscription(&self, topic: &str, name: &str) -> Result<Self::Subscription, Error> {
        Ok(Counted { inner: self.inner.subscription(topic, name).await?, count: self.count.clone() })
    }

    async fn create(&self, topic: &str) -> Result<(), Error> {
        self.inner.create(topic).await
    }

    async fn delete(&self, topic: &str) -> Result<(), Error> {
        self.inner.delete(topic).await
    }
}

impl<P: Publisher> Publisher for Counted<P> {
    fn publish(&self, burst: &[Outgoing<'_>]) -> impl Future<Output = Result<Vec<Unsent>, Error>> + Send {
        self.count.call();
        self.inner.publish(burst)
    }

    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.close()
    }
}

impl<S: Subscription> Subscription for Counted<S> {
    type Receipt = S::Receipt;

    async fn receive(&self, limit: usize, wait: Duration) -> Result<Vec<Incoming<S::Receipt>>, Error> {
        self.count.call();
        let received = self.inner.receive(limit, wait).await?;
        if received.is_empty() {
            self.count.empty_look();
        }
        Ok(received)
    }

    fn acknowledge(&self, receipts: &[S::Receipt]) -> impl Future<Output = Result<(), Error>> + Send {
        self.count.call();
        self.inner.acknowledge(receipts)
    }

    fn give_back(&self, receipts: &[S::Receipt]) -> impl Future<Output = Result<(), Error>> + Send {
        self.count.call();
        self.inner.give_back(receipts)
    }

    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.close()
    }
}
