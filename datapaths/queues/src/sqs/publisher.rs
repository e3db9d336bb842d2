//! The publishing end of a queue, or of an SNS topic.

use super::account::Account;
use super::encoding::{ATTRIBUTE, Encoded, NO_BODY, encode};
use super::failure::entry_error;
use crate::{Outgoing, Publisher, Unsent};
use aws_sdk_sns::types as sns;
use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types as sqs;
use bertha_core::{Error, ErrorKind};
use std::sync::Arc;

/// An end that publishes to a topic in SQS or SNS.
///
/// In a FIFO queue the group of a message is its key, in hexadecimal, and a message without a key is a group
/// by itself. Its deduplication id is the message's [`id`](Outgoing::id), so a call that is repeated within
/// five minutes publishes nothing twice.
///
/// The service reports for each message of a call if it accepted the message. If it refuses a message for a
/// reason of its own and accepts a later message with an equal key, their order is lost.
#[derive(Debug)]
pub struct SqsPublisher {
    pub(crate) account: Arc<Account>,
    pub(crate) to: Destination,
    pub(crate) fifo: bool,
}

/// The destination of messages.
#[derive(Debug)]
pub(crate) enum Destination {
    /// The queue with this address.
    Queue(String),
    /// The SNS topic with this resource name.
    Topic(String),
}

impl Publisher for SqsPublisher {
    async fn publish(&self, burst: &[Outgoing<'_>]) -> Result<Vec<Unsent>, Error> {
        match &self.to {
            Destination::Queue(url) => self.send(url, burst).await,
            Destination::Topic(arn) => self.publish_to(arn, burst).await,
        }
    }
}

impl SqsPublisher {
    async fn send(&self, url: &str, burst: &[Outgoing<'_>]) -> Result<Vec<Unsent>, Error> {
        let mut entries = Vec::with_capacity(burst.len());
        for (at, message) in burst.iter().enumerate() {
            let mut entry = sqs::SendMessageBatchRequestEntry::builder()
                .id(at.to_string())
                .set_message_group_id(self.group(message))
                .set_message_deduplication_id(self.repetition(message));
            entry = match encode(message.payload) {
                Encoded::Body(text) => entry.message_body(text),
                Encoded::Attribute(kind, value) => {
                    let value =
                        sqs::MessageAttributeValue::builder().data_type(kind).binary_value(Blob::new(value));
                    entry
                        .message_body(NO_BODY)
                        .message_attributes(ATTRIBUTE, value.build().map_err(incomplete)?)
                }
            };
            entries.push(entry.build().map_err(incomplete)?);
        }
        let call = self.account.sqs.send_message_batch().queue_url(url).set_entries(Some(entries));
        match Box::pin(call.send()).await {
            Ok(answer) => Ok(unsent(answer.failed.into_iter().map(|failed| {
                let error = entry_error(
                    "sqs:SendMessage",
                    &failed.code,
                    failed.message.as_deref(),
                    failed.sender_fault,
                );
                (failed.id, error)
            }))),
            Err(error) => Err(self.account.failure("sqs:SendMessage", error).await),
        }
    }

    async fn publish_to(&self, arn: &str, burst: &[Outgoing<'_>]) -> Result<Vec<Unsent>, Error> {
        let mut entries = Vec::with_capacity(burst.len());
        for (at, message) in burst.iter().enumerate() {
            let mut entry = sns::PublishBatchRequestEntry::builder()
                .id(at.to_string())
                .set_message_group_id(self.group(message))
                .set_message_deduplication_id(self.repetition(message));
            entry = match encode(message.payload) {
                Encoded::Body(text) => entry.message(text),
                Encoded::Attribute(kind, value) => {
                    let value =
                        sns::MessageAttributeValue::builder().data_type(kind).binary_value(Blob::new(value));
                    entry.message(NO_BODY).message_attributes(ATTRIBUTE, value.build().map_err(incomplete)?)
                }
            };
            entries.push(entry.build().map_err(incomplete)?);
        }
        let call =
            self.account.sns.publish_batch().topic_arn(arn).set_publish_batch_request_entries(Some(entries));
        match Box::pin(call.send()).await {
            Ok(answer) => Ok(unsent(answer.failed.unwrap_or_default().into_iter().map(|failed| {
                let error =
                    entry_error("sns:Publish", &failed.code, failed.message.as_deref(), failed.sender_fault);
                (failed.id, error)
            }))),
            Err(error) => Err(self.account.failure("sns:Publish", error).await),
        }
    }

    fn group(&self, message: &Outgoing<'_>) -> Option<String> {
        self.fifo.then(|| match message.key {
            Some(key) => format!("{key:016x}"),
            None => format!("{:032x}", message.id),
        })
    }

    fn repetition(&self, message: &Outgoing<'_>) -> Option<String> {
        self.fifo.then(|| format!("{:032x}", message.id))
    }
}

/// Returns the entries that failed, in the order of the burst: an entry's name is its place.
fn unsent(failed: impl Iterator<Item = (String, Error)>) -> Vec<Unsent> {
    let mut unsent: Vec<_> =
        failed.filter_map(|(id, error)| Some(Unsent { at: id.parse().ok()?, error })).collect();
    unsent.sort_unstable_by_key(|failed| failed.at);
    unsent
}

/// Returns the error for a missing field, which the lines above set.
pub(crate) fn incomplete(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Invalid, error.to_string()).because(error).at("Sqs")
}
