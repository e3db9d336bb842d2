//! The participants of a rendezvous over a topic.

use crate::{QueueConnection, Role, Service, Topic};
use bertha_core::{Delivery, Error, Group};
use std::fmt;
use std::sync::Arc;

/// A topic and a subscription of it, as the group over which any number of ends agree on a stack: publishers,
/// and receivers that share the messages. [`Topic::group`] creates it.
///
/// ```no_run
/// # use bertha_core::Error;
/// # use bertha_queues::{MemoryQueue, Topic};
/// # let topic = Topic::new(MemoryQueue::new(), "orders");
/// // stack.rendezvous(topic.group("billing").publisher(), store, "billing").await?
/// // and elsewhere
/// // stack.rendezvous(topic.group("billing").receiver(), store, "billing").await?
/// # let _ = (topic.group("billing").publisher(), topic.group("billing").receiver());
/// ```
///
/// Other subscriptions of the topic get the messages as well, and can't decode them: use a topic without
/// other subscriptions.
pub struct TopicGroup<S> {
    topic: Topic<S>,
    subscription: Arc<str>,
    role: Role,
}

// The implementation is here, so that modules import each other in a single direction.
impl<S: Service> Topic<S> {
    /// Returns the topic and its subscription `subscription`, as the group over which any number of ends
    /// agree on a stack by a rendezvous.
    pub fn group(&self, subscription: &str) -> TopicGroup<S> {
        TopicGroup { topic: self.clone(), subscription: subscription.into(), role: Role::Both }
    }
}

impl<S: Service> TopicGroup<S> {
    /// Restricts this end to publishing.
    #[must_use]
    pub fn publisher(self) -> Self {
        Self { role: Role::Publisher, ..self }
    }

    /// Restricts this end to receiving.
    #[must_use]
    pub fn receiver(self) -> Self {
        Self { role: Role::Receiver, ..self }
    }
}

impl<S: Service> Group for TopicGroup<S> {
    type Connection = QueueConnection<S>;

    async fn join(&self) -> Result<QueueConnection<S>, Error> {
        match self.role {
            // The subscription must exist before the first message is published: a service keeps no messages
            // for a later subscription.
            Role::Publisher => {
                drop(self.topic.receiver(&self.subscription).await?);
                self.topic.publisher().await
            }
            Role::Receiver => self.topic.receiver(&self.subscription).await,
            Role::Both => self.topic.endpoint(&self.subscription).await,
        }
    }

    fn delivery(&self) -> Delivery {
        let redelivery = self.topic.abilities().redelivery;
        let sends = self.role != Role::Receiver;
        let receives = self.role != Role::Publisher;
        Delivery::Shared { sends, receives, redelivery }
    }
}

impl<S> Clone for TopicGroup<S> {
    fn clone(&self) -> Self {
        Self { topic: self.topic.clone(), subscription: self.subscription.clone(), role: self.role }
    }
}

impl<S> fmt::Debug for TopicGroup<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("TopicGroup");
        debug.field("topic", &self.topic).field("subscription", &self.subscription).field("role", &self.role);
        debug.finish()
    }
}
