//! The Chunnel itself.

use super::windows::Windows;
use super::{ByPublisherConnection, Memory};
use bertha_core::{Buf, Carries, Chunnel, ConnectContext, Error, Identity};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;

/// Drops messages that arrive again, of any number of publishers. See the [module](crate::at_most_once).
///
/// A message carries sixteen bytes more: a number that its publisher's connection drew at random, and a running number. A
/// receiver remembers at least the last 65,473 numbers of each of the [publishers](Self::publishers) that it heard last. A
/// message that comes later than that is dropped, since it can no longer be told from a duplicate; a duplicate of a publisher that was
/// forgotten is delivered. Connections that one value makes share what it remembers, and forget it with the value.
///
/// Receivers that share a subscription remember each their own messages. What the service delivers to one of them, which is
/// slow to acknowledge it, and then to another is delivered twice, unless they share a [memory](Self::remembering).
///
/// The connection below has to keep messages undamaged: a damaged number counts as that of another message.
#[derive(Clone, Identity)]
#[chunnel(guarantees(AtMostOnce))]
pub struct AtMostOnceByPublisher {
    windows: Arc<Mutex<Windows>>,
    memory: Option<Arc<dyn Memory>>,
}

impl AtMostOnceByPublisher {
    /// Remembers messages in this process, of up to 256 publishers.
    pub fn new() -> Self {
        Self { windows: Arc::new(Mutex::new(Windows::new(256))), memory: None }
    }

    /// Remembers this number of publishers, the ones that were heard last, with 8 KiB each. At least one. A publisher that connects anew
    /// is another one.
    #[must_use]
    pub fn publishers(self, publishers: usize) -> Self {
        Self { windows: Arc::new(Mutex::new(Windows::new(publishers))), ..self }
    }

    /// Also remembers messages in `memory`, such as a [file](super::FileMemory): each is noted there before it is handed out.
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
        let dropped = context.counts_drops("AtMostOnceByPublisher", "repeated or late");
        Ok(ByPublisherConnection::new(inner, self.windows.clone(), self.memory.clone(), dropped))
    }
}
