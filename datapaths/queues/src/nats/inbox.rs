//! Requests to the server, and arrivals from it.

use super::failure::{Cause, unreachable};
use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::consumer::pull::BatchConfig;
use async_nats::{Client, Message, StatusCode, Subject, Subscriber};
use bertha_core::Error;
use futures_util::{FutureExt, StreamExt};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Additional time for which a request is assumed to be at the server.
const SLACK: Duration = Duration::from_millis(500);

/// The subject that the server delivers to, and the pending requests.
pub(crate) struct Inbox {
    prefix: String,
    messages: Subscriber,
    /// The pending request of each consumer at the server, if there is one.
    requests: Vec<Option<PullRequest>>,
    /// Messages that have come and were not taken.
    kept: VecDeque<Kept>,
    /// Time for which the server waits for an acknowledgement, or for a report of progress.
    redelivery: Duration,
}

struct Kept {
    message: Message,
    /// Time of the message's arrival, or of the last report about it.
    since: Instant,
}

struct PullRequest {
    /// Number of messages that the request may still bring.
    left: usize,
    /// Time at which the server has dropped the request.
    until: Instant,
}

/// A delivery or a report.
#[derive(Debug)]
pub(crate) enum Arrival {
    Message(Message),
    /// A request has ended.
    End,
    /// The server does not know the consumer any more.
    Gone(String),
}

impl Inbox {
    /// # Errors
    /// Fails if the client is closed.
    pub(crate) async fn open(client: &Client, consumers: usize, redelivery: Duration) -> Result<Self, Error> {
        let prefix = client.new_inbox();
        let messages = client.subscribe(format!("{prefix}.*")).await.map_err(unreachable)?;
        let requests = (0..consumers).map(|_| None).collect();
        Ok(Self { prefix, messages, requests, kept: VecDeque::new(), redelivery })
    }

    /// Asks for `count` messages of a consumer, unless a request is pending. The server answers as soon as
    /// there are any messages, and sends all messages that are there by then.
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
        self.requests[number] = Some(PullRequest { left: count, until: Instant::now() + wait + SLACK });
        Ok(())
    }

    /// Drops the requests: the server has done so too, if it is another process than before.
    pub(crate) fn forget(&mut self) {
        self.requests.fill_with(|| None);
    }

    pub(crate) fn has_requests(&self) -> bool {
        let now = Instant::now();
        self.requests.iter().flatten().any(|request| request.until > now)
    }

    /// Returns the next arrival; `None` if the client was closed. The future is cancellation-safe.
    pub(crate) async fn next(&mut self) -> Option<Arrival> {
        let message = self.messages.next().await?;
        Some(self.sort(message))
    }

    /// Returns an arrival that is there. Messages that were kept come first.
    pub(crate) async fn ready(&mut self) -> Option<Arrival> {
        while let Some(Kept { message, since }) = self.kept.pop_front() {
            // Otherwise another receiver has the message by now, or soon.
            if since.elapsed() < self.redelivery {
                return Some(Arrival::Message(message));
            }
        }
        let message = self.messages.next().now_or_never()??;
        Some(self.sort(message))
    }

    /// Keeps the messages that have come, and reports progress to the server, so that it does not deliver
    /// them to other receivers.
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
        // The message has the subject of its request. An unsolicited message may have come, too.
        let number = message.subject.rsplit('.').next().and_then(|number| number.parse::<usize>().ok());
        if let Some(request) = number.and_then(|number| self.requests.get_mut(number)) {
            *request = None;
        }
        let text = message.description.unwrap_or_default();
        let is_gone =
            status == StatusCode::NO_RESPONDERS || text.to_ascii_lowercase().contains("consumer deleted");
        if is_gone { Arrival::Gone(text) } else { Arrival::End }
    }

    /// Returns the number of the consumer that sent the message, by its subject: the number of the partition,
    /// or the number behind the partitions.
    fn number_of(&self, message: &Message) -> Option<usize> {
        let last = self.requests.len() - 1;
        let partition = message.subject.rsplit('.').next()?.parse().ok();
        Some(partition.filter(|number| *number < last).unwrap_or(last))
    }

    /// Ends the deliveries, and returns the reply subjects of messages that have come and were not taken.
    pub(crate) async fn shut(mut self) -> Vec<Subject> {
        let mut replies: Vec<Subject> = self.kept.drain(..).filter_map(|kept| kept.message.reply).collect();
        let _ = self.messages.drain().await;
        while let Some(message) = self.messages.next().await {
            replies.extend(message.reply.filter(|_| message.status.is_none()));
        }
        replies
    }
}
