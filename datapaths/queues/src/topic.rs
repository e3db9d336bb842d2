//! A topic of a service.

use crate::{Abilities, QueueConnection, QueueSettings, Service};
use bertha_core::Error;
use std::sync::Arc;

/// A topic of a messaging service, and the settings of its connections. Clones share the service's client.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// use bertha_core::{Buf, Connection};
/// use bertha_queues::{MemoryQueue, Topic};
///
/// let orders = Topic::new(MemoryQueue::new(), "orders");
/// orders.create().await?;
/// let receiver = orders.receiver("billing").await?;
/// let publisher = orders.publisher().await?;
/// publisher.send(Buf::copy_of(b"a book", 0)?).await?;
/// let order = receiver.recv().await?;
/// assert_eq!(&*order, b"a book");
/// // Without this, the order would be delivered again.
/// order.done();
/// # Ok::<(), bertha_core::Error>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Topic<S> {
    service: Arc<S>,
    name: Arc<str>,
    settings: QueueSettings,
}

impl<S: Service> Topic<S> {
    /// Creates the handle of the topic `name` of `service`. Nothing is sent yet.
    pub fn new(service: S, name: impl Into<Arc<str>>) -> Self {
        Self { service: Arc::new(service), name: name.into(), settings: QueueSettings::default() }
    }

    /// Sets the settings of the topic's connections.
    #[must_use]
    pub fn settings(self, settings: QueueSettings) -> Self {
        Self { settings, ..self }
    }

    /// Lets the topic's receivers acknowledge a message by dropping its buffer; see
    /// [`QueueSettings::acknowledge_by_dropping`].
    #[must_use]
    pub fn acknowledge_by_dropping(mut self) -> Self {
        self.settings.acknowledge_by_dropping = true;
        self
    }

    /// Returns the name of the topic.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the promises of the service about this topic.
    pub fn abilities(&self) -> Abilities {
        self.service.abilities(&self.name)
    }

    /// Creates the topic, with the order that the service's value is configured for, unless it exists.
    ///
    /// # Errors
    /// Errors of the service.
    pub async fn create(&self) -> Result<(), Error> {
        self.service.create(&self.name).await
    }

    /// Deletes the topic with its subscriptions and messages, if it exists.
    ///
    /// # Errors
    /// Errors of the service.
    pub async fn delete(&self) -> Result<(), Error> {
        self.service.delete(&self.name).await
    }

    /// Opens an end that publishes.
    ///
    /// # Errors
    /// Errors of the service, at once: a wrong address and wrong credentials show when an end is opened.
    pub async fn publisher(&self) -> Result<QueueConnection<S>, Error> {
        let publisher = self.service.publisher(&self.name).await?;
        Ok(self.connection(Some(publisher), None))
    }

    /// Opens an end that receives from the subscription `subscription`, whose messages it shares with the
    /// subscription's other receivers. If the subscription does not exist, it is created if the service can
    /// do so, and gets the messages that are published from then on.
    ///
    /// # Errors
    /// Errors of the service, at once; [`Unavailable`](bertha_core::ErrorKind::Unavailable) if the service
    /// has no multicast, and the topic has another subscription.
    pub async fn receiver(&self, subscription: &str) -> Result<QueueConnection<S>, Error> {
        let subscription = self.service.subscription(&self.name, subscription).await?;
        Ok(self.connection(None, Some(subscription)))
    }

    /// Opens an end that publishes, and receives from the subscription `subscription`, its own messages
    /// included.
    ///
    /// # Errors
    /// Errors of [`receiver`](Self::receiver).
    pub async fn endpoint(&self, subscription: &str) -> Result<QueueConnection<S>, Error> {
        let subscription = self.service.subscription(&self.name, subscription).await?;
        let publisher = self.service.publisher(&self.name).await?;
        Ok(self.connection(Some(publisher), Some(subscription)))
    }

    fn connection(
        &self,
        publisher: Option<S::Publisher>,
        subscription: Option<S::Subscription>,
    ) -> QueueConnection<S> {
        let topic = self.name.clone();
        let settings = self.settings.clone();
        QueueConnection::new(self.abilities(), topic, settings, publisher, subscription)
    }
}

impl<S> Clone for Topic<S> {
    fn clone(&self) -> Self {
        let Self { service, name, settings } = self;
        Self { service: service.clone(), name: name.clone(), settings: settings.clone() }
    }
}

bertha_core::debug_fields!(Topic<S> { name });
