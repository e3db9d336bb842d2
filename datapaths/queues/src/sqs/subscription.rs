//! The receiving end of a queue.

use super::account::{Account, BATCH, LONGEST_POLL};
use super::encoding::{ATTRIBUTE, decode};
use super::failure::entry_error;
use super::publisher::incomplete;
use crate::{Incoming, Subscription};
use aws_sdk_sqs::operation::receive_message::ReceiveMessageOutput;
use aws_sdk_sqs::types::{
    BatchResultErrorEntry, ChangeMessageVisibilityBatchRequestEntry, DeleteMessageBatchRequestEntry, Message,
};
use bertha_core::{Error, ErrorKind};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{RwLock, oneshot};

/// An end that receives from a queue.
///
/// The end waits by long polling, in whole seconds. A call whose future was dropped goes on until the service
/// answers, and gives back the messages of the answer. A message that is given back is visible again at once,
/// and counts as delivered.
#[derive(Debug, Clone)]
pub struct SqsSubscription {
    pub(crate) account: Arc<Account>,
    pub(crate) queue: String,
    /// Time after which a message that was not acknowledged is delivered again.
    pub(crate) visibility: Duration,
    /// Lock that calls hold while they delete messages of a FIFO queue.
    pub(crate) deleting: Arc<RwLock<()>>,
    pub(crate) fifo: bool,
}

/// The receipt handle of SQS for a delivered message.
#[derive(Debug, Clone)]
pub struct SqsReceipt(String);

impl Subscription for SqsSubscription {
    type Receipt = SqsReceipt;

    async fn receive(&self, limit: usize, wait: Duration) -> Result<Vec<Incoming<SqsReceipt>>, Error> {
        if self.fifo {
            // A group waits for its messages to be deleted, and a call that waits at the service may learn of
            // the deletion late.
            drop(self.deleting.write().await);
        }
        let wait = wait.min(LONGEST_POLL).as_secs();
        let call = self
            .account
            .polling
            .receive_message()
            .queue_url(&self.queue)
            .max_number_of_messages(limit.clamp(1, BATCH) as i32)
            .wait_time_seconds(wait as i32)
            .visibility_timeout(self.visibility.as_secs() as i32)
            .message_attribute_names(ATTRIBUTE);
        let (answer, answered) = oneshot::channel();
        let subscription = self.clone();
        // The service goes on with an abandoned call, and the messages of its answer would be invisible until
        // their timeout.
        tokio::spawn(async move {
            if let Err(Ok(unwanted)) = answer.send(call.send().await) {
                subscription.return_to_queue(unwanted).await;
            }
        });
        match answered.await {
            Ok(Ok(answer)) => Ok(messages(answer)),
            Ok(Err(error)) => Err(self.account.failure("sqs:ReceiveMessage", error).await),
            Err(_) => Err(shut_down()),
        }
    }

    async fn acknowledge(&self, receipts: &[SqsReceipt]) -> Result<(), Error> {
        let mut entries = Vec::with_capacity(receipts.len());
        for (at, SqsReceipt(receipt)) in receipts.iter().enumerate() {
            let entry = DeleteMessageBatchRequestEntry::builder().id(at.to_string()).receipt_handle(receipt);
            entries.push(entry.build().map_err(incomplete)?);
        }
        let _deleting = self.deleting.read().await;
        let call = self.account.sqs.delete_message_batch().queue_url(&self.queue).set_entries(Some(entries));
        match Box::pin(call.send()).await {
            Ok(answer) => outcome("sqs:DeleteMessage", answer.failed),
            Err(error) => Err(self.account.failure("sqs:DeleteMessage", error).await),
        }
    }

    async fn give_back(&self, receipts: &[SqsReceipt]) -> Result<(), Error> {
        let mut entries = Vec::with_capacity(receipts.len());
        for (at, SqsReceipt(receipt)) in receipts.iter().enumerate() {
            let entry = ChangeMessageVisibilityBatchRequestEntry::builder()
                .id(at.to_string())
                .receipt_handle(receipt)
                .visibility_timeout(0);
            entries.push(entry.build().map_err(incomplete)?);
        }
        let call = self
            .account
            .sqs
            .change_message_visibility_batch()
            .queue_url(&self.queue)
            .set_entries(Some(entries));
        match Box::pin(call.send()).await {
            Ok(answer) => outcome("sqs:ChangeMessageVisibility", answer.failed),
            Err(error) => Err(self.account.failure("sqs:ChangeMessageVisibility", error).await),
        }
    }
}

impl SqsSubscription {
    /// Gives back the messages of an answer for which no caller waits.
    async fn return_to_queue(&self, answer: ReceiveMessageOutput) {
        let receipts: Vec<_> = messages(answer).into_iter().map(|message| message.receipt).collect();
        if receipts.is_empty() {
            return;
        }
        if let Err(error) = self.give_back(&receipts).await {
            tracing::debug!(%error, messages = receipts.len(), "messages that nobody waited for were not given back");
        }
    }
}

fn messages(answer: ReceiveMessageOutput) -> Vec<Incoming<SqsReceipt>> {
    answer.messages.unwrap_or_default().into_iter().filter_map(incoming).collect()
}

#[cold]
fn shut_down() -> Error {
    Error::new(ErrorKind::Closed, "the runtime is being shut down").at("Sqs")
}

fn incoming(message: Message) -> Option<Incoming<SqsReceipt>> {
    // A message without a handle can't be acknowledged, and is delivered again.
    let receipt = SqsReceipt(message.receipt_handle?);
    let attribute = message
        .message_attributes
        .and_then(|mut all| all.remove(ATTRIBUTE))
        .and_then(|value| Some((value.data_type, value.binary_value?.into_inner())));
    Some(Incoming { payload: decode(message.body, attribute), receipt })
}

/// Returns an error if some of the messages failed for a reason that passes: the call can be repeated as a
/// whole.
fn outcome(call: &str, failed: Vec<BatchResultErrorEntry>) -> Result<(), Error> {
    for entry in failed {
        // The visibility timeout of the message has passed, so it is delivered again.
        if entry.sender_fault || is_expired(&entry.code) {
            tracing::warn!(call, code = entry.code, message = entry.message, "a receipt is no longer valid");
            continue;
        }
        return Err(entry_error(call, &entry.code, entry.message.as_deref(), false));
    }
    Ok(())
}

fn is_expired(code: &str) -> bool {
    matches!(
        code,
        "ReceiptHandleIsInvalid"
            | "MessageNotInflight"
            | "InvalidParameterValue"
            | "AWS.SimpleQueueService.MessageNotInflight"
    )
}
