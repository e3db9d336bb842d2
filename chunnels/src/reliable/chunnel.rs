//! The Chunnel itself.

use super::ReliableConnection;
use super::settings::Settings;
use crate::congestion::{Algorithm, Cubic};
use bertha_core::{Buf, Carries, Chunnel, ConnectContext, Error, Identity};
use std::sync::Arc;
use std::time::Duration;

/// Makes every message arrive, once and undamaged, over a connection that promises nothing. See the
/// [module](crate::reliable).
#[derive(Debug, Clone, Identity)]
#[chunnel(guarantees(Reliable, AtMostOnce, IntegrityChecked))]
pub struct Reliable {
    settings: Settings,
    congestion: Arc<dyn Algorithm>,
}

impl Reliable {
    /// With [`Cubic`], 4 MiB and 4,096 messages of buffer each way, packets of 1,352 bytes and a time-out of 30 seconds.
    pub fn new() -> Self {
        Self { settings: Settings::default(), congestion: Arc::new(Cubic) }
    }

    /// With this congestion control. Each end chooses its own.
    #[must_use]
    pub fn with(self, congestion: impl Algorithm) -> Self {
        Self { congestion: Arc::new(congestion), ..self }
    }

    /// Bounds each of the two buffers, that of messages which are sent and not acknowledged and that of messages which have
    /// arrived and were not received: `bytes` in the messages, and how many `messages`. At least 128 KiB and 64 messages.
    ///
    /// Of messages that were never sent less waits, and of others less is in flight: about as much as the path delivers in four of its
    /// shortest round trips, and 256 KiB or eight packets at least.
    ///
    /// While the first is full `send` waits; while the second is full the peer sends nothing new. Besides, the connection
    /// holds up to 16,384 records of packets, of about 100 bytes each. A message that has arrived occupies the block of
    /// memory that the datapath received it in, so short messages take more than their bytes: `messages` bounds that.
    #[must_use]
    pub fn buffer(mut self, bytes: usize, messages: usize) -> Self {
        self.settings.bytes = bytes.max(super::machine::INITIAL_GRANT.bytes as usize);
        self.settings.messages = messages.max(super::machine::INITIAL_GRANT.messages as usize);
        self
    }

    /// Fills packets up to `bytes`, at most up to what the connection below carries. This is also the packet size that the
    /// congestion control reckons with. A message that is larger goes in a packet of its own, which the network may have
    /// to fragment. Choose what the path carries whole: about 1,400 over the Internet, up to 64 KiB within a machine.
    #[must_use]
    pub fn packet(mut self, bytes: usize) -> Self {
        self.settings.packet = bytes;
        self
    }

    /// Fails the connection when nothing was heard from the peer for so long, or nothing acknowledged. The peer is asked
    /// for a sign of life after a third of it, so an idle connection lasts. At least 100 milliseconds.
    #[must_use]
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.settings.idle = timeout.max(Duration::from_millis(100));
        self
    }
}

impl Default for Reliable {
    fn default() -> Self {
        Self::new()
    }
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Reliable {
    type Connection = ReliableConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        _: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        Ok(ReliableConnection::new(inner, self.settings, &*self.congestion))
    }
}
