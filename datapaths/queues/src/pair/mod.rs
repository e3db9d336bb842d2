//! Two kinds of topics combined.

mod publisher;
mod subscription;

pub use publisher::PairPublisher;
pub use subscription::{PairReceipt, PairSubscription};

use crate::{Abilities, Service, Subscription};
use bertha_core::Error;
use std::time::Duration;

/// Two services, or two kinds of topics of a service, combined to a single service: messages without a key go
/// to the first, and messages with a key to the second, which keeps their order. A receiver gets the messages
/// of both.
///
/// So a `select!` between ordering at the single receiver and ordering by the service has both bottoms: the
/// quicker topic below the first alternative, which sends no keys, and the ordered topic below the second. A
/// queue of SQS can never change its kind:
///
/// ```ignore
/// let sqs = Sqs::connect().await;
/// let orders = Topic::new(Pair::new(sqs.clone(), sqs.fifo()), "orders");
/// ```
///
/// There is no order between messages with and without a key. A topic is a topic of each service, under a
/// common name; two kinds of topics of a single service need different kinds of names, as queues and FIFO
/// queues have.
///
/// # Calls
/// A receiver waits at both services, so it makes an additional call for each
/// [`long_poll`](crate::QueueSettings::long_poll). A call that waits at one service while messages of the
/// other come stays there; its messages are kept for the next call. So a receiver may hold a burst that it
/// has not asked for; if the application does not receive for longer than the service's time of redelivery,
/// other receivers get it as well. A burst that is published with and without keys takes two calls, and so do
/// its acknowledgements.
#[derive(Debug, Clone)]
pub struct Pair<A, B> {
    without_key: A,
    with_key: B,
}

impl<A: Service, B: Service> Pair<A, B> {
    /// Creates the pair. `without_key` takes the messages without a key, and `with_key` the messages with a
    /// key.
    pub fn new(without_key: A, with_key: B) -> Self {
        Self { without_key, with_key }
    }
}

impl<A, B> Service for Pair<A, B>
where
    A: Service<Subscription: Subscription<Receipt: Clone>>,
    B: Service<Subscription: Subscription<Receipt: Clone>>,
{
    type Publisher = PairPublisher<A::Publisher, B::Publisher>;
    type Subscription = PairSubscription<A::Subscription, B::Subscription>;

    /// Returns the lesser ability of both, and the order of the second.
    fn abilities(&self, topic: &str) -> Abilities {
        let one = self.without_key.abilities(topic);
        let other = self.with_key.abilities(topic);
        Abilities {
            service: other.service,
            ordering: other.ordering,
            multicast: one.multicast && other.multicast,
            max_message: one.max_message.min(other.max_message),
            publish_batch: one.publish_batch.min(other.publish_batch),
            publish_bytes: one.publish_bytes.min(other.publish_bytes),
            receive_batch: one.receive_batch.min(other.receive_batch),
            acknowledge_batch: one.acknowledge_batch.min(other.acknowledge_batch),
            retention: shorter(one.retention, other.retention),
            redelivery: one.redelivery.max(other.redelivery),
            dead_letters: one.dead_letters && other.dead_letters,
            one_by_one: one.one_by_one || other.one_by_one,
        }
    }

    async fn publisher(&self, topic: &str) -> Result<Self::Publisher, Error> {
        let without_key = self.without_key.publisher(topic).await?;
        Ok(PairPublisher { without_key, with_key: self.with_key.publisher(topic).await? })
    }

    async fn subscription(&self, topic: &str, name: &str) -> Result<Self::Subscription, Error> {
        let without_key = self.without_key.subscription(topic, name).await?;
        Ok(PairSubscription::new(without_key, self.with_key.subscription(topic, name).await?))
    }

    async fn create(&self, topic: &str) -> Result<(), Error> {
        self.without_key.create(topic).await?;
        self.with_key.create(topic).await
    }

    async fn delete(&self, topic: &str) -> Result<(), Error> {
        self.without_key.delete(topic).await?;
        self.with_key.delete(topic).await
    }
}

/// Returns the shorter of two times, of which `None` means forever.
fn shorter(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    one.into_iter().chain(other).min()
}
