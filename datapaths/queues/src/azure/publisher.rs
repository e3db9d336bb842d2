//! The publishing end of a queue.

use super::encoding::encode;
use super::queue::Queue;
use crate::{Outgoing, Publisher, Unsent};
use azure_storage_queue::models::{QueueClientSendMessageOptions, QueueMessage};
use bertha_core::Error;

/// Lifetime of messages that are kept until they are acknowledged.
const FOR_EVER: i32 = -1;

/// An end that publishes to a topic in Azure Queue Storage: a single message in each call.
#[derive(Debug)]
pub struct AzurePublisher {
    pub(crate) queue: Queue,
}

impl Publisher for AzurePublisher {
    async fn publish(&self, burst: &[Outgoing<'_>]) -> Result<Vec<Unsent>, Error> {
        for message in burst {
            send(&self.queue, encode(message.payload)).await?;
        }
        Ok(Vec::new())
    }
}

/// Puts a message of this text into a queue.
pub(crate) async fn send(queue: &Queue, text: String) -> Result<(), Error> {
    let message = QueueMessage { message_text: Some(text) };
    let message = message.try_into().map_err(|error| queue.failure("sending to", error))?;
    let options =
        QueueClientSendMessageOptions { message_time_to_live: Some(FOR_EVER), ..Default::default() };
    queue
        .client
        .send_message(message, Some(options))
        .await
        .map(drop)
        .map_err(|error| queue.failure("sending to", error))
}
