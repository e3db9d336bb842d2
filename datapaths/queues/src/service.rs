//! The calls of a service's API, as a queue connection makes them.

use crate::Abilities;
use bertha_core::Error;
use std::time::Duration;

/// A messaging service. Each service has an implementation, on the service's own client library.
///
/// An implementation makes a single call of the service's API for each call here. The queue connection does
/// the common work of all services: waiting for messages, retrying, gathering acknowledgements and counting
/// calls.
///
/// # Errors
/// The kind decides what the queue connection does about an error.
/// [`Exhausted`](bertha_core::ErrorKind::Exhausted) (throttled: HTTP 429, 503) and
/// [`Unreachable`](bertha_core::ErrorKind::Unreachable) (no connection, server restarting) are retried after
/// a pause. [`Unauthenticated`](bertha_core::ErrorKind::Unauthenticated) (credentials refused, or no
/// permission; the text names the credentials in use and the setting to change),
/// [`TooLarge`](bertha_core::ErrorKind::TooLarge), [`Invalid`](bertha_core::ErrorKind::Invalid) (no such
/// topic, a request that the service refuses) and any other kind go to the application at once.
pub trait Service: Send + Sync + 'static {
    /// An end that publishes.
    type Publisher: Publisher;
    /// An end that receives.
    type Subscription: Subscription;

    /// Returns the promises about this topic.
    fn abilities(&self, topic: &str) -> Abilities;

    /// Opens a topic for publishing. The topic must exist.
    fn publisher(&self, topic: &str) -> impl Future<Output = Result<Self::Publisher, Error>> + Send;

    /// Opens a subscription of a topic for receiving, and creates it if the service can. The topic must
    /// exist.
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
    /// The bytes. A service that carries only text encodes them.
    pub payload: &'a [u8],
    /// Hash of the application's key. Messages with equal keys stay in order, if the service keeps an order
    /// by key.
    pub key: Option<u64>,
    /// Identity of the message: equal for each attempt to publish this message, and different for any other
    /// message. Services recognise repetitions by it.
    pub id: u128,
}

/// A message of a burst that the service did not take.
#[derive(Debug)]
pub struct Unsent {
    /// Place of the message in the burst.
    pub at: usize,
    /// Reason why the message was not accepted.
    pub error: Error,
}

/// An end that publishes to a topic.
pub trait Publisher: Send + Sync + 'static {
    /// Publishes a burst of at most [`publish_batch`](Abilities::publish_batch) messages and
    /// [`publish_bytes`](Abilities::publish_bytes) bytes in a single call. Ready when the service has stored
    /// the messages. Returns the messages that the service did not accept, in the order of the burst; if the
    /// service keeps an order, it has accepted no message behind the first of them with an equal key.
    ///
    /// # Errors
    /// Fails if the call failed as a whole; messages may have been stored even so.
    fn publish(&self, burst: &[Outgoing<'_>]) -> impl Future<Output = Result<Vec<Unsent>, Error>> + Send;

    /// Ends the session properly. The default does nothing.
    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send {
        async { Ok(()) }
    }
}

/// A received message.
#[derive(Debug)]
pub struct Incoming<R> {
    /// The bytes as they were published.
    pub payload: Vec<u8>,
    /// The service's handle for acknowledging the message.
    pub receipt: R,
}

/// An end that receives from a subscription.
pub trait Subscription: Send + Sync + 'static {
    /// The service's handle for a message that was delivered to this end.
    type Receipt: Send + Sync + 'static;

    /// Waits for messages at the service for at most `wait`, and returns the available messages, at most
    /// `limit` and [`receive_batch`](Abilities::receive_batch), in a single call. The result is empty if no
    /// message came in time. A message without this implementation's encoding is acknowledged, reported with
    /// `tracing` and left out.
    ///
    /// A service without a call that waits returns an empty result at once: the queue connection then pauses
    /// between its calls. The future is dropped when the connection is closed; messages that it would have
    /// returned are delivered again.
    fn receive(
        &self,
        limit: usize,
        wait: Duration,
    ) -> impl Future<Output = Result<Vec<Incoming<Self::Receipt>>, Error>> + Send;

    /// Acknowledges at most [`acknowledge_batch`](Abilities::acknowledge_batch) messages in a single call:
    /// they are not delivered again.
    fn acknowledge(&self, receipts: &[Self::Receipt]) -> impl Future<Output = Result<(), Error>> + Send;

    /// Gives messages back, to be delivered again at once, to any receiver of the subscription; at most
    /// [`acknowledge_batch`](Abilities::acknowledge_batch) messages.
    fn give_back(&self, receipts: &[Self::Receipt]) -> impl Future<Output = Result<(), Error>> + Send;

    /// Gives back messages that no application has seen, as [`give_back`](Self::give_back) does, and takes their
    /// delivery back, if the service can: it does not count as a failure on the way to the dead letters. The
    /// default counts it.
    fn give_back_unseen(&self, receipts: &[Self::Receipt]) -> impl Future<Output = Result<(), Error>> + Send {
        self.give_back(receipts)
    }

    /// Ends the session properly. The default does nothing.
    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send {
        async { Ok(()) }
    }
}
