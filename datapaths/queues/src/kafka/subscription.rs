//! The receiving end of a subscription.

use super::clients::{Reports, blocking};
use super::failure::{failure, invalid, is_of_lost_partition};
use super::ledger::{Given, Ledger, Place};
use crate::{Incoming, Subscription};
use bertha_core::Error;
use futures_util::FutureExt;
use parking_lot::Mutex;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext, Rebalance, StreamConsumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::BorrowedMessage;
use rdkafka::{ClientContext, Message, Offset, TopicPartitionList};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{OnceCell, oneshot, watch};

/// Time limit of a step back.
const SEEK_TIMEOUT: Duration = Duration::from_secs(5);

/// Time limit of the look for a broker.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// Time limit of leaving a group.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(10);

/// An end that receives from a consumer group of Kafka, as a member of the group.
pub struct KafkaSubscription {
    consumer: Mutex<Option<Arc<StreamConsumer<Member>>>>,
    ledger: Arc<Mutex<Ledger>>,
    topic: Arc<str>,
    /// Cell that is set once the end is a member of its group.
    joined: OnceCell<()>,
}

/// The handle of a partition's message, valid as long as this receiver has the partition.
#[derive(Debug, Clone)]
pub struct KafkaReceipt(Given);

/// The part of a consumer that records partitions that come and go.
#[derive(Debug, Default)]
pub(crate) struct Member {
    reports: Reports,
    ledger: Arc<Mutex<Ledger>>,
    /// True if the client has reported that no broker answers, and no broker has answered since.
    is_alone: watch::Sender<bool>,
}

impl Member {
    fn on_error(&self, error: &KafkaError) {
        if error.rdkafka_error_code() == Some(RDKafkaErrorCode::AllBrokersDown) {
            self.is_alone.send_replace(true);
        }
    }
}

impl ClientContext for Member {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        self.reports.log(level, facility, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.on_error(&error);
        self.reports.error(error, reason);
    }
}

impl ConsumerContext for Member {
    fn pre_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        let mut ledger = self.ledger.lock();
        match rebalance {
            Rebalance::Assign(partitions) => {
                partitions.elements().iter().for_each(|element| ledger.assign(element.partition()));
            }
            Rebalance::Revoke(partitions) => {
                partitions.elements().iter().for_each(|element| ledger.revoke(element.partition()));
            }
            Rebalance::Error(error) => tracing::warn!(%error, "Kafka's group could not share its partitions"),
        }
    }
}

impl KafkaSubscription {
    pub(crate) fn new(consumer: StreamConsumer<Member>, topic: &str) -> Self {
        let ledger = consumer.context().ledger.clone();
        Self {
            consumer: Mutex::new(Some(Arc::new(consumer))),
            ledger,
            topic: topic.into(),
            joined: OnceCell::new(),
        }
    }

    /// Joins the group, unless it is joined already. The end joins only when a caller asks for messages: a
    /// member that does not ask would withhold the messages of its partitions from other members, and each
    /// change of the group from its own end.
    async fn join(&self, consumer: &Arc<StreamConsumer<Member>>) -> Result<(), Error> {
        let join = || {
            let consumer = consumer.clone();
            let topic = self.topic.clone();
            blocking(move || consumer.subscribe(&[&topic]).map_err(failure))
        };
        self.joined.get_or_try_init(join).await.map(drop)
    }

    fn consumer(&self) -> Result<Arc<StreamConsumer<Member>>, Error> {
        self.consumer.lock().clone().ok_or_else(|| invalid("the subscription was closed"))
    }

    /// Returns the message, unless it is done or belongs to a lost partition.
    fn take(&self, message: &BorrowedMessage<'_>) -> Option<Incoming<KafkaReceipt>> {
        let given = self.ledger.lock().give(message.partition(), message.offset())?;
        // In Kafka, a message without payload deletes; Bertha's publishers send no such message.
        let payload = message.payload().unwrap_or_default().to_vec();
        Some(Incoming { payload, receipt: KafkaReceipt(given) })
    }

    /// Waits until no broker answers any more, and returns the error. The client reports no broker that answers
    /// again, so it is asked.
    async fn loss(&self, consumer: &Arc<StreamConsumer<Member>>) -> Error {
        let is_alone = &consumer.context().is_alone;
        let mut reports = is_alone.subscribe();
        // The wait ends without a report only without the sender, which the consumer owns.
        while reports.wait_for(|is_alone| *is_alone).await.is_ok() {
            let asked = consumer.clone();
            let topic = self.topic.clone();
            let probe = move || asked.fetch_metadata(Some(&topic), PROBE_TIMEOUT).map(drop).map_err(failure);
            if let Err(error) = blocking(probe).await {
                return error;
            }
            is_alone.send_replace(false);
        }
        std::future::pending().await
    }

    /// Makes the client read on from these places.
    async fn step_back(&self, places: &[Place]) -> Result<(), Error> {
        let consumer = self.consumer()?;
        let list = self.places(places)?;
        blocking(move || {
            let list = consumer.seek_partitions(list, SEEK_TIMEOUT).map_err(failure)?;
            for element in list.elements() {
                // A partition that was lost meanwhile is read again by another receiver.
                if let Err(error) = element.error()
                    && error.rdkafka_error_code() != Some(RDKafkaErrorCode::State)
                {
                    return Err(failure(error));
                }
            }
            Ok(())
        })
        .await
    }

    fn places(&self, places: &[Place]) -> Result<TopicPartitionList, Error> {
        let mut list = TopicPartitionList::new();
        for place in places {
            list.add_partition_offset(&self.topic, place.partition, Offset::Offset(place.offset))
                .map_err(failure)?;
        }
        Ok(list)
    }
}

/// Returns true unless the client goes on by itself. The client reports each attempt to connect, so there are
/// many such errors while a broker is away.
fn is_news(error: &KafkaError) -> bool {
    matches!(
        error.rdkafka_error_code(),
        Some(
            RDKafkaErrorCode::BrokerTransportFailure
                | RDKafkaErrorCode::AllBrokersDown
                | RDKafkaErrorCode::Resolve
                | RDKafkaErrorCode::PollExceeded
                | RDKafkaErrorCode::PartitionEOF
        )
    )
}

impl Subscription for KafkaSubscription {
    type Receipt = KafkaReceipt;

    async fn receive(&self, limit: usize, wait: Duration) -> Result<Vec<Incoming<KafkaReceipt>>, Error> {
        let consumer = self.consumer()?;
        self.join(&consumer).await?;
        let deadline = Instant::now() + wait;
        let mut burst = Vec::new();
        // The look for a broker goes on while the client reports its attempts.
        let mut loss = pin!(self.loss(&consumer));
        while burst.is_empty() {
            let first = tokio::select! {
                first = tokio::time::timeout_at(deadline.into(), consumer.recv()) => first,
                error = &mut loss => return Err(error),
            };
            let Ok(mut next) = first else { break };
            loop {
                match next {
                    Ok(message) => burst.extend(self.take(&message)),
                    Err(error) if is_news(&error) => {
                        consumer.context().on_error(&error);
                        tracing::debug!(%error, "Kafka");
                    }
                    Err(error) if burst.is_empty() => return Err(failure(error)),
                    // The error comes again, if its cause lasts.
                    Err(_) => break,
                }
                if burst.len() >= limit {
                    break;
                }
                let Some(another) = consumer.recv().now_or_never() else { break };
                next = another;
            }
        }
        Ok(burst)
    }

    async fn acknowledge(&self, receipts: &[KafkaReceipt]) -> Result<(), Error> {
        let places = self.ledger.lock().acknowledge(receipts.iter().map(|receipt| receipt.0));
        if places.is_empty() {
            return Ok(());
        }
        let consumer = self.consumer()?;
        let list = self.places(&places)?;
        blocking(move || match consumer.commit(&list, CommitMode::Sync) {
            Err(error) if is_of_lost_partition(&error) => Ok(()),
            result => result.map_err(failure),
        })
        .await?;
        self.ledger.lock().on_committed(&places);
        Ok(())
    }

    async fn give_back(&self, receipts: &[KafkaReceipt]) -> Result<(), Error> {
        let places = self.ledger.lock().give_back(receipts.iter().map(|receipt| receipt.0));
        if places.is_empty() {
            return Ok(());
        }
        let stepped = self.step_back(&places).await;
        self.ledger.lock().on_stepped_back(&places);
        stepped
    }

    /// Leaves the group, so that other receivers get its partitions at once. If the client does not manage
    /// that within ten seconds, they get the partitions when the session has timed out, and a warning says
    /// so.
    async fn close(&self) -> Result<(), Error> {
        let consumer = self.consumer.lock().take();
        if let Some(left) = consumer.map(leave)
            && tokio::time::timeout(LEAVE_TIMEOUT, left).await.is_err()
        {
            tracing::warn!(
                topic = &*self.topic,
                "Kafka's client does not end; its partitions stay with it until its session ends"
            );
        }
        Ok(())
    }
}

impl Drop for KafkaSubscription {
    fn drop(&mut self) {
        if let Some(consumer) = self.consumer.lock().take() {
            drop(leave(consumer));
        }
    }
}

/// Drops a consumer, which leaves its group in a round trip, on a thread of its own: the client's library
/// waits without a limit if its own thread has ended before, and a runtime that is shut down waits for the
/// threads that it lent.
fn leave(consumer: Arc<StreamConsumer<Member>>) -> oneshot::Receiver<()> {
    let (end, ended) = oneshot::channel();
    let leaving = move || {
        drop(consumer);
        // If the future was dropped, no task waits for the end.
        let _ = end.send(());
    };
    if let Err(error) = std::thread::Builder::new().name("kafka-leave".to_owned()).spawn(leaving) {
        tracing::warn!(%error, "no thread to leave Kafka's group with, so that was waited for");
    }
    ended
}

bertha_core::debug_fields!(KafkaSubscription { topic });
