//! The participants of a rendezvous over a topic.

use crate::{QueueConnection, Role, Service, Topic};
use bertha_core::{Delivery, Error, Group};
use std::fmt;
use std::sync::Arc;

/// A topic and one of its subscriptions, as the group over which any number of ends agree on a stack: publishers, and receivers that share
/// the messages. Made by [`Topic::group`].
///
/// ```no_run
/// # use bertha_core::Error;
/// # use bertha_queue::{MemoryQueue, Topic};
/// # let topic = Topic::new(MemoryQueue::new(), "orders");
/// // stack.rendezvous(topic.group("billing").publisher(), store, "billing").await?
/// // and elsewhere
/// // stack.rendezvous(topic.group("billing").receiver(), store, "billing").await?
/// # let _ = (topic.group("billing").publisher(), topic.group("billing").receiver());
/// ```
///
/// Other subscriptions of the topic get the messages as well, and can't decode them: use a topic that has no other.
pub struct TopicGroup<S> {
    topic: Topic<S>,
    subscription: Arc<str>,
    role: Role,
}

// Here, so that modules import each other in one direction.
impl<S: Service> Topic<S> {
    /// The topic and its subscription `subscription`, as the group over which any number of ends agree on a stack by a rendezvous.
    pub fn group(&self, subscription: &str) -> TopicGroup<S> {
        TopicGroup { topic: self.clone(), subscription: subscription.into(), role: Role::Both }
    }
}

impl<S: Service> TopicGroup<S> {
    /// The same group, to which this end publishes alone.
    #[must_use]
    pub fn publisher(self) -> Self {
        Self { role: Role::Publisher, ..self }
    }

    /// The same group, from which this end receives alone.
    #[must_use]
    pub fn receiver(self) -> Self {
        Self { role: Role::Receiver, ..self }
    }
}

impl<S: Service> Group for TopicGroup<S> {
    type Connection = QueueConnection<S>;

    async fn join(&self) -> Result<QueueConnection<S>, Error> {
        match self.role {
            // The subscription is there before the first message is published: a service keeps none for one that comes later.
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
        let (sends, receives) = (self.role != Role::Receiver, self.role != Role::Publisher);
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
