//! Messages that were delivered too often.

use super::publisher::send;
use super::queue::Queue;
use bertha_core::{Error, ErrorKind};

/// The queue for messages that were delivered too often.
#[derive(Debug, Clone)]
pub(crate) struct Poison {
    /// Largest number of deliveries of a message.
    pub(crate) deliveries: u32,
    pub(crate) queue: Queue,
}

impl Poison {
    /// Stores a message of this text, in a queue that is created for the first such message.
    pub(crate) async fn put(&self, text: String) -> Result<(), Error> {
        match send(&self.queue, text.clone()).await {
            Err(error) if error.kind() == ErrorKind::Invalid => {
                self.queue.create().await?;
                send(&self.queue, text).await
            }
            result => result,
        }
    }
}
