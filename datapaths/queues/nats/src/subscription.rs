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
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, Notify, watch};
use tokio::task::AbortHandle;

/// For how long after a call messages that come late are kept for the next one.
const LATE: Duration = Duration::from_millis(100);

/// How often it is looked whether requests that nobody waits for have ended.
const EXPIRY: Duration = Duration::from_secs(1);

/// A request without a time would stay for ever.
const SHORTEST: Duration = Duration::from_millis(1);

/// For how long a burst waits for the server's word that there are no more.
const MORE: Duration = Duration::from_millis(50);

/// An end that receives from a subscription in NATS.
///
/// A call asks each of the subscription's consumers once, and has what is there at once, or what comes first. Where order by key is kept, the
/// requests of partitions that had nothing stay at the server for the next call; a message that comes more than 100 ms after the last call
/// is given back, so that a receiver that is busy holds up no partition.
pub struct NatsSubscription {
    shared: Arc<Shared>,
    keeper: Option<AbortHandle>,
}

struct Shared {
    client: Client,
    context: Context,
    events: Events,
    connections: Mutex<watch::Receiver<u64>>,
    consumers: Vec<PullConsumer>,
    /// One message at a time from each consumer.
    is_ordered: bool,
    dead_letters: Option<DeadLetters>,
    inbox: Mutex<Option<Inbox>>,
    /// A call waits for the inbox.
    wanted: Notify,
    /// A call has left requests behind.
    left: Notify,
}

/// Where messages go that fail again and again.
pub(crate) struct DeadLetters {
    pub(crate) topic: String,
    /// The deliveries before.
    pub(crate) after: i64,
}

/// The subject by which a message is acknowledged.
#[derive(Debug)]
pub struct NatsReceipt(Subject);

impl NatsSubscription {
    pub(crate) fn new(
        client: Client,
        context: Context,
        events: Events,
        consumers: Vec<PullConsumer>,
        is_ordered: bool,
        dead_letters: Option<DeadLetters>,
    ) -> Self {
        let connections = Mutex::new(events.connections());
        let (inbox, wanted, left) = (Mutex::new(None), Notify::new(), Notify::new());
        let shared = Arc::new(Shared {
            client,
            context,
            events,
            connections,
            consumers,
            is_ordered,
            dead_letters,
            inbox,
            wanted,
            left,
        });
        let keeper = is_ordered.then(|| tokio::spawn(keep(shared.clone())).abort_handle());
        Self { shared, keeper }
    }
}

/// Gives back what arrives while nobody receives.
async fn keep(shared: Arc<Shared>) {
    loop {
        shared.left.notified().await;
        // Another call within this time leaves its own note.
        tokio::time::sleep(LATE).await;
        let mut inbox = shared.inbox.lock().await;
        let Some(inbox) = inbox.as_mut() else { continue };
        // A call held it meanwhile.
        if inbox.is_in_use(LATE) {
            shared.left.notify_one();
            continue;
        }
        while inbox.has_requests() {
            let arrival = tokio::select! {
                biased;
                () = shared.wanted.notified() => break,
                arrival = inbox.next() => arrival,
                () = tokio::time::sleep(EXPIRY) => continue,
            };
            match arrival {
                Some(Arrival::Message(message)) => {
                    if let Some(reply) = message.reply {
                        let _ = shared.client.publish(reply, "-NAK".into()).await;
                    }
                }
                Some(_) => {}
                None => return,
            }
        }
    }
}

impl Shared {
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
        let identity = format!("{sequence} {}", self.consumers[0].cached_info().name);
        let letter = PublishMessage::build().message_id(identity).payload(payload.to_vec().into());
        let stored = async { self.context.send_publish(dead.topic.clone(), letter).await?.await };
        match stored.await {
            Ok(_) => drop(self.client.publish(reply, "+TERM".into()).await),
            Err(error) => tracing::warn!(topic = dead.topic, %error, "a dead letter could not be stored"),
        }
    }

    async fn receive(&self, limit: usize, wait: Duration) -> Result<Vec<Incoming<NatsReceipt>>, Error> {
        self.wanted.notify_one();
        let mut inbox = self.inbox.lock().await;
        let inbox = match &mut *inbox {
            Some(inbox) => inbox,
            empty => empty.insert(Inbox::open(&self.client, self.consumers.len()).await?),
        };
        let mut connections = self.connections.lock().await;
        let deadline = Instant::now() + wait;
        let mut burst = Vec::new();
        // Requests that ended with nothing, before their time.
        let mut ends = 0;
        loop {
            while burst.len() < limit
                && let Some(arrival) = inbox.ready()
            {
                ends += self.sort(arrival, &mut burst).await?;
            }
            let is_late = Instant::now() >= deadline;
            if burst.len() >= limit || is_late || (self.is_ordered && !burst.is_empty()) {
                break;
            }
            let until = if burst.is_empty() {
                // The server refuses to look for several where others have asked for what is there.
                let count = if self.is_ordered || ends > 0 { 1 } else { limit };
                if ends > self.consumers.len() {
                    tokio::time::sleep(MORE).await;
                }
                let left = deadline.saturating_duration_since(Instant::now());
                for (number, consumer) in self.consumers.iter().enumerate() {
                    inbox.ask(number, consumer, count, left.max(SHORTEST)).await?;
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
        if self.is_ordered {
            inbox.on_used();
            self.left.notify_one();
        }
        Ok(burst)
    }

    /// Takes what has come, and counts the end of a request.
    async fn sort(&self, arrival: Arrival, burst: &mut Vec<Incoming<NatsReceipt>>) -> Result<usize, Error> {
        match arrival {
            Arrival::Message(message) => burst.extend(self.take(message).await),
            Arrival::End => return Ok(1),
            // What has come is worth more than the news.
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
        let shared = &self.shared;
        let topic = &shared.consumers[0].cached_info().stream_name;
        tokio::select! {
            burst = shared.receive(limit, wait) => burst,
            text = shared.events.refusal(topic) => Err(forbidden(&text)),
        }
    }

    async fn acknowledge(&self, receipts: &[NatsReceipt]) -> Result<(), Error> {
        self.shared.reply(receipts, "+ACK").await
    }

    async fn give_back(&self, receipts: &[NatsReceipt]) -> Result<(), Error> {
        self.shared.reply(receipts, "-NAK").await
    }

    /// Gives back what has arrived and was not received.
    async fn close(&self) -> Result<(), Error> {
        if let Some(keeper) = &self.keeper {
            keeper.abort();
        }
        let Some(mut inbox) = self.shared.inbox.lock().await.take() else { return Ok(()) };
        inbox.shut().await;
        while let Some(arrival) = inbox.next().await {
            if let Arrival::Message(Message { reply: Some(reply), .. }) = arrival {
                self.shared.client.publish(reply, "-NAK".into()).await.map_err(unreachable)?;
            }
        }
        self.shared.client.flush().await.map_err(unreachable)
    }
}

impl Drop for NatsSubscription {
    fn drop(&mut self) {
        if let Some(keeper) = &self.keeper {
            keeper.abort();
        }
    }
}

impl fmt::Debug for NatsSubscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let info = self.shared.consumers[0].cached_info();
        f.debug_struct("NatsSubscription")
            .field("topic", &info.stream_name)
            .field("consumers", &self.shared.consumers.len())
            .finish_non_exhaustive()
    }
}
