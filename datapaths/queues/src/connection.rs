//! The connection that applications hold.

use crate::acknowledging::{self, Ledger};
use crate::calls::{Calls, Counters};
use crate::closing::Closing;
use crate::receiving::{self, Inbox};
use crate::sending::Sending;
use crate::{
    Abilities, Ordering, Publisher, QueueBase, QueueSettings, QueueStatistics, Role, Service, Subscription,
};
use bertha_core::{Buf, Connection, Error, ErrorKind, OrdersByKey, Runtime, Statistics};
use bertha_runtime::tokio::{Task, TokioRuntime};
use std::collections::VecDeque;
use std::fmt;
use std::pin::{Pin, pin};
use std::sync::Arc;

/// An end of a [`Topic`](crate::Topic): sending publishes, receiving receives from a subscription.
///
/// * **Sending.** `send` is ready once the service has stored the message. `send_batch` fills the service's
///   calls, one call after another. A `send` whose future is dropped may have published its message.
/// * **Receiving.** A message is acknowledged by [`Buf::done`], for it and for every buffer split off it; a message
///   that is dropped instead is delivered again. `recv` asks the service for [`prefetch`](QueueSettings::prefetch) messages,
///   `recv_batch` for as many as its limit, in a task: dropping the future loses nothing, and the messages
///   wait for the next call. The service is asked only while a call waits.
/// * **Errors.** Throttling ([`Exhausted`](ErrorKind::Exhausted)) and absent servers
///   ([`Unreachable`](ErrorKind::Unreachable)) lead to repetitions, for
///   [`retry_for`](QueueSettings::retry_for), and are then reported; the connection goes on. A repetition may
///   publish a message twice, if the service does not recognise it. A call for a role that this end does not
///   have is [`Invalid`](ErrorKind::Invalid).
/// * **Closing.** `close` waits, for at most [`close_timeout`](QueueSettings::close_timeout), until the
///   service has accepted the acknowledgements, and gives back messages that are still
///   held. Dropping the connection does so in the background. A call that waits for messages is abandoned; if
///   it was about to return some, they are delivered again.
pub struct QueueConnection<S: Service> {
    base: QueueBase,
    abilities: Abilities,
    topic: Arc<str>,
    sending: Option<Sending<S::Publisher>>,
    receiving: Option<Receiving<S::Subscription>>,
    closing: Closing,
    counters: Arc<Counters>,
    settings: QueueSettings,
}

struct Receiving<S: Subscription> {
    inbox: Arc<Inbox>,
    ledger: Arc<Ledger<S::Receipt>>,
    /// The task that asks for messages. It ends with the connection.
    task: parking_lot::Mutex<Option<Task>>,
}

impl<S: Service> QueueConnection<S> {
    pub(crate) fn new(
        abilities: Abilities,
        topic: Arc<str>,
        settings: QueueSettings,
        publisher: Option<S::Publisher>,
        subscription: Option<S::Subscription>,
    ) -> Self {
        let counters = Arc::new(Counters::default());
        let sending =
            publisher.map(|publisher| Sending::new(publisher, abilities, settings.clone(), counters.clone()));
        let receiving =
            subscription.map(|subscription| Receiving::new(subscription, &abilities, &settings, &counters));
        let base = QueueBase::new(&abilities, !settings.acknowledge_by_dropping);
        Self { base, abilities, topic, sending, receiving, closing: Closing::default(), counters, settings }
    }

    /// Returns the promises of the service about the topic.
    pub fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    /// Returns the number of calls of the service's API so far.
    pub fn calls(&self) -> Calls {
        self.counters.calls()
    }

    /// Returns the use that this end makes of the topic.
    pub fn role(&self) -> Role {
        match (&self.sending, &self.receiving) {
            (Some(_), Some(_)) => Role::Both,
            (Some(_), None) => Role::Publisher,
            (None, _) => Role::Receiver,
        }
    }

    fn sending(&self) -> Result<&Sending<S::Publisher>, Error> {
        self.sending.as_ref().ok_or_else(|| self.no_role("only receives from", "publisher"))
    }

    fn receiving(&self) -> Result<&Receiving<S::Subscription>, Error> {
        self.receiving.as_ref().ok_or_else(|| self.no_role("only publishes to", "receiver"))
    }

    #[cold]
    fn no_role(&self, does: &str, role: &str) -> Error {
        let what =
            format!("this end {does} topic `{}`; open it with Topic::{role} or Topic::endpoint", self.topic);
        Error::new(ErrorKind::Invalid, what).at(self.abilities.service)
    }

    #[cold]
    fn closed(&self) -> Error {
        let what = format!("this end closed its connection to topic `{}`", self.topic);
        Error::new(ErrorKind::Closed, what).at(self.abilities.service)
    }

    /// Waits for at least one message, and takes at most `limit`.
    async fn take(&self, limit: usize) -> Result<VecDeque<Buf>, Error> {
        let receiving = self.receiving()?;
        let taken = receiving.inbox.take(&self.closing, limit).await;
        let taken = taken.unwrap_or_else(|| Err(self.closed()))?;
        receiving.ledger.hand_out(taken.len());
        Ok(taken)
    }

    async fn unless_closed<T>(
        &self,
        work: Pin<&mut impl Future<Output = Result<T, Error>>>,
    ) -> Result<T, Error> {
        self.closing.unless_closed(work).await.unwrap_or_else(|| Err(self.closed()))
    }

    /// Ends receiving; a task settles the remaining messages.
    fn end(&self) {
        self.closing.close();
        if let Some(receiving) = &self.receiving {
            drop(receiving.task.lock().take());
            // The ledger ends before the messages are dropped, which may acknowledge them.
            receiving.ledger.end();
            drop(receiving.inbox.close());
        }
    }
}

impl<S: Subscription> Receiving<S> {
    fn new(
        subscription: S,
        abilities: &Abilities,
        settings: &QueueSettings,
        counters: &Arc<Counters>,
    ) -> Self {
        let subscription = Arc::new(subscription);
        let inbox = Arc::new(Inbox::default());
        let ledger = Arc::new(Ledger::new(abilities.acknowledge_batch, settings));
        let acknowledge =
            acknowledging::run(subscription.clone(), ledger.clone(), counters.clone(), settings.clone());
        // The task outlives the connection, to give back its messages, for a bounded time.
        tokio::spawn(acknowledge);
        let settings = settings.clone();
        let counters = counters.clone();
        let ask = receiving::run(subscription, inbox.clone(), ledger.clone(), counters, settings, *abilities);
        Self { inbox, ledger, task: parking_lot::Mutex::new(Some(TokioRuntime.spawn(ask))) }
    }
}

impl<S: Service> Connection for QueueConnection<S> {
    type Data = Buf;
    type Base = QueueBase;

    fn base(&self) -> &QueueBase {
        &self.base
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        self.unless_closed(pin!(self.sending()?.send(None, message))).await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        loop {
            if let Some(message) = self.take(1).await?.pop_front() {
                return Ok(message);
            }
        }
    }

    async fn send_batch(&self, messages: impl Iterator<Item = Buf> + Send) -> Result<(), Error> {
        let messages = messages.map(|message| (None, message));
        self.unless_closed(pin!(self.sending()?.send_all(messages))).await
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        if limit == 0 {
            return Ok(0);
        }
        let taken = self.take(limit).await?;
        let count = taken.len();
        into.extend(taken);
        Ok(count)
    }

    /// Sends the acknowledgements that wait for others to join them.
    async fn drain(&self) -> Result<(), Error> {
        if let Some(receiving) = &self.receiving {
            receiving.ledger.flush().await;
        }
        Ok(())
    }

    async fn close(&self) -> Result<(), Error> {
        self.end();
        if let Some(receiving) = &self.receiving {
            receiving.ledger.ended().await;
            if !receiving.ledger.is_settled() {
                return Err(self.unsettled());
            }
        }
        match &self.sending {
            Some(sending) => {
                let closing = sending.publisher.close();
                let timeout = self.settings.close_timeout;
                tokio::time::timeout(timeout, closing).await.unwrap_or_else(|_| Err(self.unsettled()))
            }
            None => Ok(()),
        }
    }

    fn observe(&self, into: &mut Statistics) {
        let mut statistics = QueueStatistics { calls: self.calls(), ..QueueStatistics::default() };
        if let Some(receiving) = &self.receiving {
            statistics.to_receive_messages = receiving.inbox.len() as u64;
            receiving.ledger.observe(&mut statistics);
        }
        into.add(self.abilities.service, statistics);
    }
}

impl<S: Service> OrdersByKey for QueueConnection<S> {
    fn keeps_order_by_key(&self) -> Result<(), Error> {
        match self.abilities.ordering {
            Ordering::ByKey => Ok(()),
            other => Err(self.no_order_by_key(other)),
        }
    }

    async fn send_by_key(&self, key: u64, message: Buf) -> Result<(), Error> {
        self.keeps_order_by_key()?;
        self.unless_closed(pin!(self.sending()?.send(Some(key), message))).await
    }

    async fn send_batch_by_key(
        &self,
        messages: impl Iterator<Item = (u64, Buf)> + Send,
    ) -> Result<(), Error> {
        self.keeps_order_by_key()?;
        let messages = messages.map(|(key, message)| (Some(key), message));
        self.unless_closed(pin!(self.sending()?.send_all(messages))).await
    }
}

impl<S: Service> QueueConnection<S> {
    #[cold]
    fn no_order_by_key(&self, ordering: Ordering) -> Error {
        let what = format!(
            "topic `{}` keeps {ordering}; use an ordered queue that keeps order by key, or OrderedByKey at the single receiver",
            self.topic
        );
        Error::new(ErrorKind::Invalid, what).at(self.abilities.service)
    }

    #[cold]
    fn unsettled(&self) -> Error {
        let what = format!(
            "topic `{}` was closed, but the service did not confirm it in time: messages may be delivered again",
            self.topic
        );
        Error::new(ErrorKind::TimedOut, what).at(self.abilities.service)
    }
}

impl<S: Service> Drop for QueueConnection<S> {
    fn drop(&mut self) {
        self.end();
    }
}

impl<S: Service> fmt::Debug for QueueConnection<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueConnection")
            .field("service", &self.abilities.service)
            .field("topic", &self.topic)
            .field("role", &self.role())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemoryQueue, Topic};

    /// Each copy of a call's future is a copy of its bytes for each message.
    #[tokio::test]
    async fn a_send_holds_the_call_to_the_service_once() {
        let topic = Topic::new(MemoryQueue::new(), "topic");
        topic.create().await.unwrap();
        let publisher = topic.publisher().await.unwrap();
        let message = || Buf::copy_of(&[7], 0).unwrap();
        let call = size_of_val(&publisher.sending().unwrap().send(None, message()));
        let send = size_of_val(&publisher.send(message()));
        assert!(send < 2 * call, "{send} bytes around a call of {call} bytes");
    }
}
