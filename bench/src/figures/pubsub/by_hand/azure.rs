//! Azure Queue Storage by `azure_storage_queue`.

use crate::Error;
use crate::figures::pubsub::by_hand_failed as failed;
use crate::figures::pubsub::counted::Count;
use crate::figures::pubsub::exchange::{Receives, Sends, number};
use azure_core::http::Url;
use azure_storage_queue::models::{QueueClientReceiveMessagesOptions, QueueMessage};
use azure_storage_queue::{QueueClient, QueueClientOptions};
use std::time::Duration;

/// Pauses between looks into an empty queue, which the service leaves to its users: equal to Bertha's, for a
/// fair comparison.
const PAUSES: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(500)];

/// A publisher to a queue.
pub(crate) struct AzurePublisher {
    queue: QueueClient,
    count: Count,
}

impl AzurePublisher {
    pub(crate) fn open(account: &str, topic: &str, count: Count) -> Result<Self, Error> {
        Ok(Self { queue: open(account, topic)?, count })
    }
}

impl Sends for AzurePublisher {
    async fn send(&self, message: Vec<u8>) -> Result<(), Error> {
        self.count.call();
        let message = QueueMessage { message_text: Some(String::from_utf8(message).map_err(failed)?) };
        let message = message.try_into().map_err(failed)?;
        self.queue.send_message(message, None).await.map(drop).map_err(failed)
    }
}

/// A receiver of a queue.
pub(crate) struct AzureReceiver {
    queue: QueueClient,
    /// Id and pop receipt of the held message.
    held: Option<(String, String)>,
    count: Count,
}

impl AzureReceiver {
    pub(crate) fn open(account: &str, topic: &str, count: Count) -> Result<Self, Error> {
        Ok(Self { queue: open(account, topic)?, held: None, count })
    }
}

impl Receives for AzureReceiver {
    async fn receive(&mut self) -> Result<Vec<u32>, Error> {
        let mut pause = PAUSES[0];
        loop {
            self.count.call();
            let options =
                QueueClientReceiveMessagesOptions { number_of_messages: Some(1), ..Default::default() };
            let answer = self.queue.receive_messages(Some(options)).await.map_err(failed)?;
            let messages = answer.into_model().map_err(failed)?.items.unwrap_or_default();
            if let Some(message) = messages.into_iter().next() {
                self.held = message.message_id.zip(message.pop_receipt);
                return Ok(vec![number(message.message_text.unwrap_or_default().as_bytes())?]);
            }
            self.count.empty_look();
            tokio::time::sleep(pause).await;
            pause = (2 * pause).min(PAUSES[1]);
        }
    }

    async fn acknowledge(&mut self) -> Result<(), Error> {
        let Some((id, pop)) = self.held.take() else { return Ok(()) };
        self.count.call();
        self.queue.delete_message(&id, &pop, None).await.map(drop).map_err(failed)
    }
}

/// Opens the queue of a topic in the account at an address with a signature.
fn open(account: &str, topic: &str) -> Result<QueueClient, Error> {
    let mut url = Url::parse(account).map_err(failed)?;
    url.set_path(&format!("{}/{topic}", url.path().trim_end_matches('/')));
    QueueClient::new(url, None, Some(QueueClientOptions::default())).map_err(failed)
}
