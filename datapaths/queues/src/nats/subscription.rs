//! The receiving end of a subscription.

use super::events::Events;
use super::failure::{invalid, unreachable};
use super::inbox::{Arrival, Inbox};
use crate::{Incoming, Subscription};
use async_nats::jetstream::Context;
use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::message::PublishMessage;
use async_nats::{Client, Message, Subject};
use bertha_core::Error;
use std::fmt;
use std::pin::pin;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, watch};

/// Shortest time of a request: a request without a time would stay forever.
const SHORTEST: Duration = Duration::from_millis(1);

/// Time for which a burst waits for the server's report that there are no more messages.
const MORE: Duration = Duration::from_millis(50);

/// An end that receives from a subscription in NATS.
///
/// A call asks each of the subscription's consumers once, and returns what is there at once, or what comes
/// first. Where order by key is kept, the requests of empty partitions stay at the server; the messages that
/// they bring are kept for the next call, at most one message of each partition, which waits for this
/// receiver meanwhile. If no call is made for the time of redelivery, other receivers get these messages.
pub struct NatsSubscription {
    client: Client,
    context: Context,
    events: Events,
    connections: Mutex<watch::Receiver<u64>>,
    consumers: Vec<Consumer>,
    redelivery: Duration,
    dead_letters: Option<DeadLetters>,
    inbox: Mutex<Option<Inbox>>,
}

/// A consumer whose messages the server delivers.
pub(crate) struct Consumer {
    pub(crate) consumer: PullConsumer,
    /// True if the consumer delivers a single message at a time.
    pub(crate) is_ordered: bool,
}

/// The topic for messages that fail again and again.
pub(crate) struct DeadLetters {
    pub(crate) topic: String,
    /// Number of deliveries before a message goes there.
    pub(crate) after: i64,
}

/// The subject by which a message is acknowledged.
#[derive(Debug, Clone)]
pub struct NatsReceipt(Subject);

impl NatsSubscription {
    pub(crate) fn new(
        client: Client,
        context: Context,
        events: Events,
        consumers: Vec<Consumer>,
        redelivery: Duration,
        dead_letters: Option<DeadLetters>,
    ) -> Self {
        let connections = Mutex::new(events.connections());
        let inbox = Mutex::new(None);
        Self { client, context, events, connections, consumers, redelivery, dead_letters, inbox }
    }

    /// Returns the message, unless it has been delivered too often; then it goes to the dead letters.
    async fn take(&self, message: Message) -> Option<Incoming<NatsReceipt>> {
        let message = async_nats::jetstream::Message { message, context: self.context.clone() };
        let info = message.info().ok().map(|info| (info.delivered, info.stream_sequence));
        let (Message { payload, reply, .. }, _) = (message.message, ());
        // A message without a reply subject does not come from JetStream; a message without numbers was
        // delivered nevertheless.
        let reply = reply?;
        if let (Some(dead), Some((delivered, sequence))) = (&self.dead_letters, info)
            && delivered > dead.after
        {
            self.bury(dead, &payload, sequence, reply).await;
            return None;
        }
        Some(Incoming { payload: payload.into(), receipt: NatsReceipt(reply) })
    }

    /// Moves a message to the dead letters. If this fails now, the message is delivered again.
    async fn bury(&self, dead: &DeadLetters, payload: &[u8], sequence: u64, reply: Subject) {
        tracing::warn!(
            topic = dead.topic,
            sequence,
            deliveries = dead.after,
            "a message goes to the dead letters"
        );
        let identity = format!("{sequence} {}", self.consumers[0].consumer.cached_info().name);
        let letter = PublishMessage::build().message_id(identity).payload(payload.to_vec().into());
        let stored = async { self.context.send_publish(dead.topic.clone(), letter).await?.await };
        match stored.await {
            Ok(_) => drop(self.client.publish(reply, "+TERM".into()).await),
            Err(error) => tracing::warn!(topic = dead.topic, %error, "a dead letter could not be stored"),
        }
    }

    async fn receive_here(&self, limit: usize, wait: Duration) -> Result<Vec<Incoming<NatsReceipt>>, Error> {
        let mut inbox = self.inbox.lock().await;
        let inbox = match &mut *inbox {
            Some(inbox) => inbox,
            empty => {
                let new = Inbox::open(&self.client, self.consumers.len(), self.redelivery).await?;
                empty.insert(new)
            }
        };
        inbox.keep(&self.client).await?;
        let mut connections = self.connections.lock().await;
        let deadline = Instant::now() + wait;
        let mut burst = Vec::new();
        // Number of requests that ended early without a message.
        let mut ends = 0;
        loop {
            while burst.len() < limit
                && let Some(arrival) = inbox.ready().await
            {
                ends += self.sort(arrival, &mut burst).await?;
            }
            let is_late = Instant::now() >= deadline;
            // Partitions have no end of a burst to wait for.
            if burst.len() >= limit || is_late || (self.consumers.len() > 1 && !burst.is_empty()) {
                break;
            }
            let until = if burst.is_empty() {
                if ends > self.consumers.len() {
                    tokio::time::sleep(MORE).await;
                }
                let left = deadline.saturating_duration_since(Instant::now()).max(SHORTEST);
                for (number, Consumer { consumer, is_ordered }) in self.consumers.iter().enumerate() {
                    // The server refuses a request for several messages if other receivers have asked for the
                    // available messages.
                    let count = if *is_ordered || ends > 0 { 1 } else { limit };
                    inbox.ask(number, consumer, count, left).await?;
                }
                deadline
            } else if inbox.has_requests() {
                deadline.min(Instant::now() + MORE)
            } else {
                break;
            };
            tokio::select! {
                arrival = inbox.next() => match arrival {
                    Some(arrival) => ends += self.sort(arrival, &mut burst).await?,
                    None => return Err(unreachable("the client was closed")),
                },
                // A restarted server has no requests.
                _ = connections.changed() => inbox.forget(),
                () = tokio::time::sleep_until(until.into()) => if !burst.is_empty() { break },
            }
        }
        inbox.keep(&self.client).await?;
        Ok(burst)
    }

    /// Takes the message of an arrival, and counts the end of a request.
    async fn sort(&self, arrival: Arrival, burst: &mut Vec<Incoming<NatsReceipt>>) -> Result<usize, Error> {
        match arrival {
            Arrival::Message(message) => burst.extend(self.take(message).await),
            Arrival::End => return Ok(1),
            // Messages that have come are worth more than the report.
            Arrival::Gone(text) if burst.is_empty() => {
                return Err(invalid(format!(
                    "the server has no such topic or subscription any more; create it ({text})"
                )));
            }
            Arrival::Gone(_) => {}
        }
        Ok(0)
    }

    /// Sends `word` about all of the messages. Ready when the server has answered the last, and so, over a
    /// single connection, all.
    async fn reply(&self, receipts: &[NatsReceipt], word: &'static str) -> Result<(), Error> {
        let Some((last, before)) = receipts.split_last() else { return Ok(()) };
        for NatsReceipt(reply) in before {
            self.client.publish(reply.clone(), word.into()).await.map_err(unreachable)?;
        }
        self.client.request(last.0.clone(), word.into()).await.map_err(unreachable)?;
        Ok(())
    }
}

impl Subscription for NatsSubscription {
    type Receipt = NatsReceipt;

    async fn receive(&self, limit: usize, wait: Duration) -> Result<Vec<Incoming<NatsReceipt>>, Error> {
        let topic = &self.consumers[0].consumer.cached_info().stream_name;
        self.events.unless_refused(topic, pin!(self.receive_here(limit, wait))).await
    }

    async fn acknowledge(&self, receipts: &[NatsReceipt]) -> Result<(), Error> {
        self.reply(receipts, "+ACK").await
    }

    async fn give_back(&self, receipts: &[NatsReceipt]) -> Result<(), Error> {
        self.reply(receipts, "-NAK").await
    }

    /// Gives back messages that have arrived and were not received.
    async fn close(&self) -> Result<(), Error> {
        if let Some(inbox) = self.inbox.lock().await.take() {
            for reply in inbox.shut().await {
                self.client.publish(reply, "-NAK".into()).await.map_err(unreachable)?;
            }
        }
        self.client.flush().await.map_err(unreachable)
    }
}

impl fmt::Debug for NatsSubscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let info = self.consumers[0].consumer.cached_info();
        f.debug_struct("NatsSubscription")
            .field("topic", &info.stream_name)
            .field("consumers", &self.consumers.len())
            .finish_non_exhaustive()
    }
}
