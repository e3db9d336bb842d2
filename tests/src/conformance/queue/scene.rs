//! A topic of a check, and its messages.

use super::{QueueSite, Sizes};
use bertha_core::{Base, Buf, Connection, Error, Runtime};
use bertha_queues::{Abilities, Ordering, QueueConnection, QueueSettings, Topic};
use std::time::Duration;

/// A new topic, with its service.
pub(super) struct Scene<Q: QueueSite> {
    pub(super) topic: Topic<Q::Service>,
    pub(super) sizes: Sizes,
}

/// Returns a message with a number, followed by as many bytes as the number says.
pub(super) fn message(number: u64) -> Buf {
    let mut buf = Buf::new(8 + (number % 50) as usize, 0).unwrap();
    buf.fill(number as u8);
    buf[..8].copy_from_slice(&number.to_be_bytes());
    buf
}

/// Returns the number in a message.
pub(super) fn number(message: &[u8]) -> u64 {
    let number = u64::from_be_bytes(message[..8].try_into().unwrap());
    assert_eq!(message.len(), 8 + (number % 50) as usize, "message {number} was cut or grew");
    assert!(message[8..].iter().all(|byte| *byte == number as u8), "message {number} was changed");
    number
}

impl<Q: QueueSite> Scene<Q> {
    /// Creates a topic with the first of the service's orders.
    pub(super) async fn usual(site: &Q) -> Self {
        Self::with(site, site.service(site.orders()[0]).await).await
    }

    /// Creates a topic with this order, if the service can keep it.
    pub(super) async fn ordered(site: &Q, ordering: Ordering) -> Option<Self> {
        if !site.orders().contains(&ordering) {
            return None;
        }
        Some(Self::with(site, site.service(ordering).await).await)
    }

    pub(super) async fn impatient(site: &Q) -> Self {
        Self::with(site, site.impatient().await).await
    }

    pub(super) async fn with(site: &Q, service: Q::Service) -> Self {
        Self::with_settings(site, service, site.settings()).await
    }

    pub(super) async fn with_settings(site: &Q, service: Q::Service, settings: QueueSettings) -> Self {
        let random = bertha_datapath_kernel::TokioRuntime.random();
        let topic = Topic::new(service, format!("conformance-{random:016x}")).settings(settings);
        let scene = Self { topic, sizes: site.sizes() };
        scene.succeeds("create a topic", scene.topic.create()).await;
        scene
    }

    pub(super) fn abilities(&self) -> Abilities {
        self.topic.abilities()
    }

    pub(super) async fn publisher(&self) -> QueueConnection<Q::Service> {
        self.succeeds("open a publisher", self.topic.publisher()).await
    }

    pub(super) async fn receiver(&self, subscription: &str) -> QueueConnection<Q::Service> {
        self.succeeds("open a receiver", self.topic.receiver(subscription)).await
    }

    /// Opens a publisher and a receiver.
    pub(super) async fn ends(&self) -> [QueueConnection<Q::Service>; 2] {
        let receiver = self.receiver("all").await;
        [self.publisher().await, receiver]
    }

    pub(super) async fn end(self) {
        self.succeeds("delete a topic", self.topic.delete()).await;
    }

    /// Returns the output of `future`, which must be ready soon.
    pub(super) async fn soon<T>(&self, what: &str, future: impl Future<Output = T>) -> T {
        let patience = self.sizes.patience;
        let late = |_| panic!("{what} ({}): nothing happened for {patience:?}", self.abilities().service);
        tokio::time::timeout(patience, future).await.unwrap_or_else(late)
    }

    /// Returns the success of `future`, which must be ready soon, as in [`soon`](Self::soon).
    pub(super) async fn succeeds<T>(&self, what: &str, future: impl Future<Output = Result<T, Error>>) -> T {
        self.soon(what, future).await.unwrap_or_else(|error| panic!("{what}: {error:?}"))
    }

    /// Publishes the numbers in bursts.
    pub(super) async fn publish(
        &self,
        publisher: &QueueConnection<Q::Service>,
        numbers: impl IntoIterator<Item = u64>,
    ) {
        let numbers: Vec<_> = numbers.into_iter().collect();
        for burst in numbers.chunks(100) {
            let burst: Vec<_> = burst.iter().map(|number| message(*number)).collect();
            self.succeeds("send_batch", publisher.send_batch(burst.into_iter())).await;
        }
    }

    /// Receives until each of the first `count` numbers has come, and returns the numbers as they came,
    /// repetitions included.
    pub(super) async fn receive(&self, receiver: &QueueConnection<Q::Service>, count: u64) -> Vec<u64> {
        let mut came = Vec::new();
        let mut missing: std::collections::BTreeSet<_> = (0..count).collect();
        while !missing.is_empty() {
            let mut burst = Vec::new();
            let recv = receiver.recv_batch(&mut burst, 100);
            let Ok(received) = tokio::time::timeout(self.sizes.patience, recv).await else {
                panic!("{} of {count} messages are lost, from {:?} on", missing.len(), missing.first());
            };
            received.unwrap_or_else(|error| panic!("recv_batch: {error:?}"));
            for message in burst {
                let number = number(&message);
                assert!(number < count, "a message {number} that nobody sent");
                missing.remove(&number);
                came.push(number);
            }
        }
        came
    }

    /// Fails if a message comes within `duration`.
    pub(super) async fn nothing_comes(&self, receiver: &QueueConnection<Q::Service>, duration: Duration) {
        let recv = tokio::time::timeout(duration, receiver.recv()).await;
        assert!(recv.is_err(), "a message came: {recv:?}");
    }

    /// Returns the message of the next `recv`, which must succeed soon.
    pub(super) async fn next(&self, receiver: &QueueConnection<Q::Service>) -> Buf {
        self.succeeds("recv", receiver.recv()).await
    }
}

/// Returns the numbers of `came` in the order of their first arrivals.
pub(super) fn first_times(came: &[u64]) -> Vec<u64> {
    let mut known = std::collections::HashSet::new();
    came.iter().copied().filter(|number| known.insert(*number)).collect()
}

/// Returns true if the topic is ordered, as its connection states.
pub(super) fn is_ordered<C: Connection>(connection: &C) -> bool {
    connection.base().properties().ordered
}
