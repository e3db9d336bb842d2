//! The Chunnel itself.

use super::windows::Windows;
use super::{ByPublisherConnection, Memory, MessageId};
use crate::at_most_once::statistics::Remembered;
use crate::redelivery::Redelivery;
use bertha_core::{Base, Buf, Carries, Chunnel, ConnectContext, Error, Identity};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;

/// Drops messages that arrive again, from any number of publishers. See the [module](crate::at_most_once).
///
/// A message carries sixteen bytes more: a number that its publisher's connection drew at random, and a
/// running number. A receiver remembers at least the last 65,473 numbers of each of the
/// [publishers](Self::publishers) that it heard last. A message that arrives later is dropped, since it can
/// no longer be distinguished from a duplicate; a duplicate of a forgotten publisher's message is delivered.
/// The connections that one value makes share this memory, and it is lost with the value.
///
/// Receivers that share a subscription remember only their own messages. If the service delivers a message to
/// a receiver that is slow to acknowledge it, and then to another receiver, the message is delivered twice,
/// unless the receivers share a [memory](Self::remembering).
///
/// The connection below has to keep messages undamaged: a damaged number counts as the number of another
/// message.
#[derive(Clone, Identity)]
#[chunnel(guarantees(AtMostOnce))]
pub struct AtMostOnceByPublisher {
    windows: Arc<Mutex<Windows>>,
    redelivery: Redelivery<MessageId>,
    memory: Option<Arc<dyn Memory>>,
}

impl AtMostOnceByPublisher {
    /// Makes a Chunnel that remembers messages in this process, of up to 256 publishers.
    pub fn new() -> Self {
        let windows = Arc::new(Mutex::new(Windows::new(256)));
        Self { windows, redelivery: Redelivery::shared(), memory: None }
    }

    /// Sets the number of publishers that are remembered, at least one: the publishers that were heard last,
    /// with 8 KiB each. A publisher that connects again counts as another publisher.
    #[must_use]
    pub fn publishers(self, publishers: usize) -> Self {
        Self { windows: Arc::new(Mutex::new(Windows::new(publishers))), ..self }
    }

    /// Also remembers messages in `memory`, such as a [file](super::FileMemory): each message is noted there
    /// before it is handed out.
    #[must_use]
    pub fn remembering(self, memory: Arc<dyn Memory>) -> Self {
        Self { memory: Some(memory), ..self }
    }
}

impl Default for AtMostOnceByPublisher {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for AtMostOnceByPublisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtMostOnceByPublisher")
            .field("remembers", &self.memory.is_some())
            .finish_non_exhaustive()
    }
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for AtMostOnceByPublisher {
    type Connection = ByPublisherConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        if self.memory.is_some() {
            // The memory notes a message before the work, and would refuse it when it is delivered again.
            inner.base().properties().refuse_receipts("AtMostOnceByPublisher with a memory")?;
        }
        let dropped = context.counts_drops("AtMostOnceByPublisher", "repeated or late");
        let windows = self.windows.clone();
        let redelivery = self.redelivery.clone();
        let memory = self.memory.clone();
        let remembered = Arc::new(Remembered {
            name: "AtMostOnceByPublisher",
            redelivery: redelivery.clone(),
            publishers: {
                let windows = windows.clone();
                move || windows.lock().len()
            },
        });
        context.observes(&remembered);
        Ok(ByPublisherConnection::new(inner, windows, redelivery, memory, dropped, remembered))
    }
}
