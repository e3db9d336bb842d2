//! The receiving end of a queue.

use super::encoding::decode;
use super::failure::answer;
use super::poison::Poison;
use super::queue::Queue;
use crate::{Incoming, Subscription};
use azure_storage_queue::models::{QueueClientReceiveMessagesOptions, ReceivedMessage};
use bertha_core::Error;
use std::time::Duration;

/// Largest number of messages in a call that receives.
pub(crate) const BATCH: usize = 32;

/// An end that receives from a queue.
///
/// A call does not wait for messages. Each message is acknowledged, or given back, by a call of its own.
#[derive(Debug)]
pub struct AzureSubscription {
    pub(crate) queue: Queue,
    pub(crate) poison: Option<Poison>,
    /// Time after which a message that was not acknowledged is delivered again.
    pub(crate) visibility: Duration,
}

/// The id and the pop receipt of Azure for a delivered message.
#[derive(Debug, Clone)]
pub struct AzureReceipt {
    id: String,
    pop: String,
}

impl Subscription for AzureSubscription {
    type Receipt = AzureReceipt;

    async fn receive(&self, limit: usize, _: Duration) -> Result<Vec<Incoming<AzureReceipt>>, Error> {
        let options = QueueClientReceiveMessagesOptions {
            number_of_messages: Some(limit.clamp(1, BATCH) as i32),
            visibility_timeout: Some(self.visibility.as_secs() as i32),
            ..Default::default()
        };
        let failure = |error| self.queue.failure("receiving from", error);
        let answer = self.queue.client.receive_messages(Some(options)).await.map_err(failure)?;
        let messages = answer.into_model().map_err(failure)?.items.unwrap_or_default();
        let mut incoming = Vec::with_capacity(messages.len());
        for message in messages {
            incoming.extend(self.accept(message).await?);
        }
        Ok(incoming)
    }

    async fn acknowledge(&self, receipts: &[AzureReceipt]) -> Result<(), Error> {
        for receipt in receipts {
            self.delete(receipt).await?;
        }
        Ok(())
    }

    async fn give_back(&self, receipts: &[AzureReceipt]) -> Result<(), Error> {
        for AzureReceipt { id, pop } in receipts {
            self.outcome(
                self.queue.client.update_message(id, pop, 0, None).await.map(drop),
                "giving back to",
            )?;
        }
        Ok(())
    }
}

impl AzureSubscription {
    /// Returns a message for the application, unless it is put aside.
    async fn accept(&self, message: ReceivedMessage) -> Result<Option<Incoming<AzureReceipt>>, Error> {
        let (Some(id), Some(pop)) = (message.message_id, message.pop_receipt) else { return Ok(None) };
        let receipt = AzureReceipt { id, pop };
        let text = message.message_text.unwrap_or_default();
        let deliveries = message.dequeue_count.unwrap_or_default();
        if let Some(poison) = self.poison.as_ref().filter(|poison| deliveries > i64::from(poison.deliveries))
        {
            tracing::warn!(
                queue = self.queue.name,
                deliveries,
                to = poison.queue.name,
                "a message was delivered too often, and is put aside"
            );
            poison.put(text).await?;
            self.delete(&receipt).await?;
            return Ok(None);
        }
        match decode(&text) {
            Some(payload) => Ok(Some(Incoming { payload, receipt })),
            None => {
                tracing::warn!(
                    queue = self.queue.name,
                    id = receipt.id,
                    "a message is no base64, and is left out"
                );
                self.delete(&receipt).await?;
                Ok(None)
            }
        }
    }

    async fn delete(&self, AzureReceipt { id, pop }: &AzureReceipt) -> Result<(), Error> {
        self.outcome(self.queue.client.delete_message(id, pop, None).await.map(drop), "acknowledging to")
    }

    /// Reports success for a message whose visibility timeout has passed: it is delivered again, and nothing
    /// can prevent this.
    fn outcome(&self, result: azure_core::Result<()>, doing: &str) -> Result<(), Error> {
        match result {
            Err(error) if answer(&error).is_some_and(|(_, code)| is_expired(code)) => {
                tracing::warn!(queue = self.queue.name, "a receipt is no longer valid");
                Ok(())
            }
            result => result.map_err(|error| self.queue.failure(doing, error)),
        }
    }
}

fn is_expired(code: &str) -> bool {
    matches!(code, "MessageNotFound" | "PopReceiptMismatch")
}
