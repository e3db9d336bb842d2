//! Receiving from a subscription.

use crate::events::Events;
use crate::failure::{forbidden, invalid, unreachable};
use crate::inbox::{Arrival, Inbox};
use async_nats::jetstream::Context;
use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::message::PublishMessage;
use async_nats::{Client, Message, Subject};
use bertha_core::Error;
use bertha_queue::{Incoming, Subscription};
use std::fmt;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, watch};

/// A request without a time would stay for ever.
const SHORTEST: Duration = Duration::from_millis(1);

/// For how long a burst waits for the server's word that there are no more.
const MORE: Duration = Duration::from_millis(50);

/// An end that receives from a subscription in NATS.
///
/// A call asks each of the subscription's consumers once, and has what is there at once, or what comes first. Where order by key is kept, the
/// requests of partitions that had nothing stay at the server; what they bring is kept for the next call, at most one message of each
/// partition, which waits for this receiver meanwhile. If no call is made for the time after which messages are delivered again, others get them.
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

/// One that the server hands out messages of.
pub(crate) struct Consumer {
    pub(crate) consumer: PullConsumer,
    /// One message at a time.
    pub(crate) is_ordered: bool,
}

/// Where messages go that fail again and again.
pub(crate) struct DeadLetters {
    pub(crate) topic: String,
    /// The deliveries before.
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
        let (connections, inbox) = (Mutex::new(events.connections()), Mutex::new(None));
        Self { client, context, events, connections, consumers, redelivery, dead_letters, inbox }
    }

    /// The message, unless it has been delivered too often; that goes to the dead letters.
    async fn take(&self, message: Message) -> Option<Incoming<NatsReceipt>> {
        let message = async_nats::jetstream::Message { message, context: self.context.clone() };
        let info = message.info().ok().map(|info| (info.delivered, info.stream_sequence));
        let (Message { payload, reply, .. }, _) = (message.message, ());
        // Without a reply subject it is not JetStream's; without its numbers it was delivered all the same.
        let reply = reply?;
        if let (Some(dead), Some((delivered, sequence))) = (&self.dead_letters, info)
            && delivered > dead.after
        {
            self.bury(dead, &payload, sequence, reply).await;
            return None;
        }
        Some(Incoming { payload: payload.into(), receipt: NatsReceipt(reply) })
    }

    /// One that can't be buried now comes again.
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
        // Requests that ended with nothing, before their time.
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
                    // The server refuses to look for several where others have asked for what is there.
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
                // A server that was started again knows nothing of requests.
                _ = connections.changed() => inbox.forget(),
                () = tokio::time::sleep_until(until.into()) => if !burst.is_empty() { break },
            }
        }
        inbox.keep(&self.client).await?;
        Ok(burst)
    }

    /// Takes what has come, and counts the end of a request.
    async fn sort(&self, arrival: Arrival, burst: &mut Vec<Incoming<NatsReceipt>>) -> Result<usize, Error> {
        match arrival {
            Arrival::Message(message) => burst.extend(self.take(message).await),
            Arrival::End => return Ok(1),
            // Messages that have come are worth more than the news.
            Arrival::Gone(text) if burst.is_empty() => {
                return Err(invalid(format!(
                    "the server has no such topic or subscription any more; create it ({text})"
                )));
            }
            Arrival::Gone(_) => {}
        }
        Ok(0)
    }

    /// Says the same about all of them. Ready when the server has heard the last one, and so, over one connection, all.
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
        tokio::select! {
            burst = self.receive_here(limit, wait) => burst,
            text = self.events.refusal(topic) => Err(forbidden(&text)),
        }
    }

    async fn acknowledge(&self, receipts: &[NatsReceipt]) -> Result<(), Error> {
        self.reply(receipts, "+ACK").await
    }

    async fn give_back(&self, receipts: &[NatsReceipt]) -> Result<(), Error> {
        self.reply(receipts, "-NAK").await
    }

    /// Gives back what has arrived and was not received.
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
