//! Requests to the server, and arrivals from it.

use crate::failure::{Cause, unreachable};
use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::consumer::pull::BatchConfig;
use async_nats::{Client, Message, StatusCode, Subject, Subscriber};
use bertha_core::Error;
use futures_util::{FutureExt, StreamExt};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// For how much longer than the server a request is thought to be there.
const SLACK: Duration = Duration::from_millis(500);

/// The subject that the server delivers to, and the requests that are there.
pub(crate) struct Inbox {
    prefix: String,
    messages: Subscriber,
    /// For each consumer its request at the server, if there is one.
    requests: Vec<Option<Request>>,
    /// Messages that have come and were not taken.
    kept: VecDeque<Kept>,
    /// The server waits so long for an acknowledgement, or for a word that it is on its way.
    redelivery: Duration,
}

struct Kept {
    message: Message,
    /// The time of its arrival, or of the last word about it.
    since: Instant,
}

struct Request {
    /// How many messages it may still bring.
    left: usize,
    /// The server has forgotten it then.
    until: Instant,
}

/// A delivery or a report.
#[derive(Debug)]
pub(crate) enum Arrival {
    Message(Message),
    /// A request has ended.
    End,
    /// The server knows nothing of the consumer any more.
    Gone(String),
}

impl Inbox {
    /// # Errors
    /// If the client is closed.
    pub(crate) async fn open(client: &Client, consumers: usize, redelivery: Duration) -> Result<Self, Error> {
        let prefix = client.new_inbox();
        let messages = client.subscribe(format!("{prefix}.*")).await.map_err(unreachable)?;
        let requests = (0..consumers).map(|_| None).collect();
        Ok(Self { prefix, messages, requests, kept: VecDeque::new(), redelivery })
    }

    /// Asks for so many messages of a consumer, unless a request is there: to be sent as soon as there are any, and all at once that
    /// are there by then.
    pub(crate) async fn ask(
        &mut self,
        number: usize,
        consumer: &PullConsumer,
        count: usize,
        wait: Duration,
    ) -> Result<(), Error> {
        if self.requests[number].as_ref().is_some_and(|request| request.until > Instant::now()) {
            return Ok(());
        }
        let batch =
            BatchConfig { batch: count, expires: Some(wait), no_wait: count > 1, ..BatchConfig::default() };
        let inbox = format!("{}.{number}", self.prefix);
        consumer.request_batch(batch, inbox.into()).await.map_err(|error| unreachable(Cause::from(error)))?;
        self.requests[number] = Some(Request { left: count, until: Instant::now() + wait + SLACK });
        Ok(())
    }

    /// Forgets the requests: the server has, if it is another process than before.
    pub(crate) fn forget(&mut self) {
        self.requests.fill_with(|| None);
    }

    pub(crate) fn has_requests(&self) -> bool {
        let now = Instant::now();
        self.requests.iter().flatten().any(|request| request.until > now)
    }

    /// The next arrival. Nothing if the client was closed. Cancellation-safe.
    pub(crate) async fn next(&mut self) -> Option<Arrival> {
        let message = self.messages.next().await?;
        Some(self.sort(message))
    }

    /// An arrival that is there. Messages that were kept come first.
    pub(crate) async fn ready(&mut self) -> Option<Arrival> {
        while let Some(Kept { message, since }) = self.kept.pop_front() {
            // Otherwise it is with somebody else by now, or soon.
            if since.elapsed() < self.redelivery {
                return Some(Arrival::Message(message));
            }
        }
        let message = self.messages.next().now_or_never()??;
        Some(self.sort(message))
    }

    /// Keeps what has come, and tells the server that it is on its way, so that it does not deliver it to others.
    pub(crate) async fn keep(&mut self, client: &Client) -> Result<(), Error> {
        while let Some(message) = self.messages.next().now_or_never().flatten() {
            if let Arrival::Message(message) = self.sort(message) {
                self.kept.push_back(Kept { message, since: Instant::now() });
            }
        }
        let word_after = self.redelivery / 4;
        for kept in self.kept.iter_mut().filter(|kept| kept.since.elapsed() > word_after) {
            if let Some(reply) = &kept.message.reply {
                client.publish(reply.clone(), "+WPI".into()).await.map_err(unreachable)?;
                kept.since = Instant::now();
            }
        }
        Ok(())
    }

    fn sort(&mut self, message: Message) -> Arrival {
        let Some(status) = message.status else {
            if let Some(request) = self.number_of(&message).and_then(|number| self.requests[number].as_mut())
            {
                request.left = request.left.saturating_sub(1);
                if request.left == 0 {
                    request.until = Instant::now();
                }
            }
            return Arrival::Message(message);
        };
        // Its subject is that of the request. Something may have come that nobody asked for.
        let number = message.subject.rsplit('.').next().and_then(|number| number.parse::<usize>().ok());
        if let Some(request) = number.and_then(|number| self.requests.get_mut(number)) {
            *request = None;
        }
        let text = message.description.unwrap_or_default();
        let is_gone =
            status == StatusCode::NO_RESPONDERS || text.to_ascii_lowercase().contains("consumer deleted");
        if is_gone { Arrival::Gone(text) } else { Arrival::End }
    }

    /// The consumer that sent the message, by its subject: the partition, or the one behind them.
    fn number_of(&self, message: &Message) -> Option<usize> {
        let last = self.requests.len() - 1;
        let partition = message.subject.rsplit('.').next()?.parse().ok();
        Some(partition.filter(|number| *number < last).unwrap_or(last))
    }

    /// Ends the deliveries, and returns how to reply to what has come and was not taken.
    pub(crate) async fn shut(mut self) -> Vec<Subject> {
        let mut replies: Vec<Subject> = self.kept.drain(..).filter_map(|kept| kept.message.reply).collect();
        let _ = self.messages.drain().await;
        while let Some(message) = self.messages.next().await {
            replies.extend(message.reply.filter(|_| message.status.is_none()));
        }
        replies
    }
}
