//! The calls of a service's API, as a queue connection makes them.

use crate::Abilities;
use bertha_core::Error;
use std::time::Duration;

/// A messaging service: implemented once for each, on the service's own client library.
///
/// An implementation does one call of the service's API for each call here: waiting for messages, retrying, gathering
/// acknowledgements and counting calls is the queue connection's part, the same for all services.
///
/// # Errors
/// The kind says what the queue connection does about an error. [`Exhausted`](bertha_core::ErrorKind::Exhausted) (throttled: HTTP 429, 503) and
/// [`Unreachable`](bertha_core::ErrorKind::Unreachable) (no connection, server restarting) are retried after a pause.
/// [`Unauthenticated`](bertha_core::ErrorKind::Unauthenticated) (credentials refused, or no permission; the text names which credentials were used and
/// what to set), [`TooLarge`](bertha_core::ErrorKind::TooLarge), [`Invalid`](bertha_core::ErrorKind::Invalid) (no such topic, a request that the service refuses) and any
/// other kind go to the application at once.
pub trait Service: Send + Sync + 'static {
    /// An end that publishes.
    type Publisher: Publisher;
    /// An end that receives.
    type Subscription: Subscription;

    /// The promises about this topic.
    fn abilities(&self, topic: &str) -> Abilities;

    /// Opens a topic for publishing. The topic exists.
    fn publisher(&self, topic: &str) -> impl Future<Output = Result<Self::Publisher, Error>> + Send;

    /// Opens a subscription of a topic for receiving, and creates it if the service can. The topic exists.
    ///
    /// # Errors
    /// [`Unavailable`](bertha_core::ErrorKind::Unavailable) if the service has no multicast, and the topic has another subscription.
    fn subscription(
        &self,
        topic: &str,
        name: &str,
    ) -> impl Future<Output = Result<Self::Subscription, Error>> + Send;

    /// Creates a topic, with the order that the service's value is configured for, unless it exists.
    fn create(&self, topic: &str) -> impl Future<Output = Result<(), Error>> + Send;

    /// Deletes a topic with its subscriptions and messages, if it exists.
    fn delete(&self, topic: &str) -> impl Future<Output = Result<(), Error>> + Send;
}

/// A message to publish.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing<'a> {
    /// The bytes. A service that carries text alone encodes them.
    pub payload: &'a [u8],
    /// Messages with the same key stay in order, where the service keeps an order by key. A hash of the application's key.
    pub key: Option<u64>,
    /// The same for each attempt to publish this message, and different for any other: for services that recognise repetitions.
    pub id: u128,
}

/// A message of a burst that the service did not take.
#[derive(Debug)]
pub struct Unsent {
    /// Its place in the burst.
    pub at: usize,
    /// The reason.
    pub error: Error,
}

/// An end that publishes to a topic.
pub trait Publisher: Send + Sync + 'static {
    /// Publishes a burst of at most [`publish_batch`](Abilities::publish_batch) messages and [`publish_bytes`](Abilities::publish_bytes)
    /// bytes in one call. Ready when the service has stored them. Returns those that it did not take, in the order of the burst; where the service keeps an order, none of
    /// those behind the first one with the same key was taken either.
    ///
    /// # Errors
    /// If the call failed as a whole; messages may have been stored all the same.
    fn publish(&self, burst: &[Outgoing<'_>]) -> impl Future<Output = Result<Vec<Unsent>, Error>> + Send;

    /// Ends the session in good order. The default does nothing.
    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send {
        async { Ok(()) }
    }
}

/// A message that was received.
#[derive(Debug)]
pub struct Incoming<R> {
    /// The bytes as they were published.
    pub payload: Vec<u8>,
    /// The service's handle for acknowledging it.
    pub receipt: R,
}

/// An end that receives from a subscription.
pub trait Subscription: Send + Sync + 'static {
    /// The service's handle for a message that was delivered to this end.
    type Receipt: Send + Sync + 'static;

    /// Waits for messages at the service for at most `wait`, and returns those that are there, at most `limit` and
    /// [`receive_batch`](Abilities::receive_batch), in one call. None if there were none in time. A message that does not have this
    /// implementation's encoding is acknowledged, reported with `tracing` and left out.
    ///
    /// A service without a call that waits returns none at once: the queue connection then pauses between its calls. The future is
    /// dropped when the connection is closed; messages that it would have returned are delivered again.
    fn receive(
        &self,
        limit: usize,
        wait: Duration,
    ) -> impl Future<Output = Result<Vec<Incoming<Self::Receipt>>, Error>> + Send;

    /// Acknowledges at most [`acknowledge_batch`](Abilities::acknowledge_batch) messages in one call: they are not delivered again.
    fn acknowledge(&self, receipts: &[Self::Receipt]) -> impl Future<Output = Result<(), Error>> + Send;

    /// Gives messages back, to be delivered again at once, to any receiver of the subscription; at most
    /// [`acknowledge_batch`](Abilities::acknowledge_batch) of them.
    fn give_back(&self, receipts: &[Self::Receipt]) -> impl Future<Output = Result<(), Error>> + Send;

    /// Ends the session in good order. The default does nothing.
    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send {
        async { Ok(()) }
    }
}
