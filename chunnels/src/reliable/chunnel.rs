//! The Chunnel itself.

use super::ReliableConnection;
#[cfg(feature = "qlog")]
use super::qlog::Qlog;
use super::settings::ReliableSettings;
use super::wire::Check;
use crate::congestion::{Algorithm, Bbr};
use bertha_core::guarantee::{IntegrityChecked, Set};
use bertha_core::{Buf, Carries, Chunnel, ConnectContext, Error, Identity};
use std::sync::Arc;
use std::time::Duration;

/// Delivers every message, once and undamaged, over a connection that guarantees nothing. See the
/// [module](crate::reliable).
#[derive(Debug, Clone, Identity)]
#[chunnel(guarantees(Reliable, AtMostOnce, IntegrityChecked))]
pub struct Reliable {
    settings: ReliableSettings,
    congestion: Arc<dyn Algorithm>,
}

impl Reliable {
    /// Uses [`Bbr`], buffers of 4 MiB and 4,096 messages each way, packets of 1,352 bytes and a time-out of 30 seconds.
    pub fn new() -> Self {
        Self { settings: ReliableSettings::default(), congestion: Arc::new(Bbr) }
    }

    /// Sets the congestion control. Each end chooses its own.
    #[must_use]
    pub fn with(self, congestion: impl Algorithm) -> Self {
        Self { congestion: Arc::new(congestion), ..self }
    }

    /// Bounds each of the two buffers, of unacknowledged messages and of messages that have arrived and were not received, to `bytes` and to a number of `messages`. At least 128 KiB and 64 messages.
    ///
    /// While the first is full `send` waits; while the second is full the peer sends nothing new. The bytes that wait unsent, and
    /// those in flight, are also bounded to about as many as the path delivers in four of its shortest round trips, and at least
    /// 256 KiB or eight packets.
    ///
    /// The connection also holds up to 16,384 records of packets of about 100 bytes each. A received message occupies the
    /// buffer of the datapath that it arrived in, so short messages take more memory than their bytes: `messages` bounds that.
    #[must_use]
    pub fn buffer(mut self, bytes: usize, messages: usize) -> Self {
        self.settings.bytes = bytes.max(super::machine::INITIAL_GRANT.bytes as usize);
        self.settings.messages = messages.max(super::machine::INITIAL_GRANT.messages as usize);
        self
    }

    /// Sets the size up to which packets are filled, at most the largest message below. The congestion control counts in
    /// packets of this size. A larger message is sent in a packet of its own, which the network may have to fragment. Choose the
    /// MTU of the path: about 1,400 over the Internet, up to 64 KiB within a machine.
    #[must_use]
    pub fn packet(mut self, bytes: usize) -> Self {
        self.settings.packet = bytes;
        self
    }

    /// Lets routers mark packets instead of dropping them when a queue builds up: explicit congestion notification (RFC 3168). Off
    /// unless chosen. It is used if both ends choose it and the [datapath](bertha_core::Base::set_ecn) carries marks, as kernel
    /// UDP does; otherwise packets go unmarked.
    ///
    /// Choose a congestion control that answers marks: any of this crate but [`FixedWindow`](crate::congestion::FixedWindow), or an
    /// algorithm of an agent that asks for them, such as DCTCP.
    #[must_use]
    pub fn ecn(mut self) -> Self {
        self.settings.ecn = true;
        self
    }

    /// Sets the time after which the connection fails if nothing arrived from the peer, or nothing was acknowledged. After a
    /// third of it the peer is probed, so an idle connection lasts. At least 100 milliseconds; ten years and more are for ever, such as
    /// [`Duration::MAX`].
    #[must_use]
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.settings.idle = timeout.clamp(Duration::from_millis(100), FOREVER);
        self
    }

    /// Writes a qlog of each connection: packets, losses, window and round-trip times, for tools that draw them. Off unless chosen.
    ///
    /// An end that was made without negotiation calls itself a client.
    #[cfg(feature = "qlog")]
    #[must_use]
    pub fn qlog(mut self, qlog: Qlog) -> Self {
        self.settings.qlog = Some(qlog);
        self
    }
}

/// Longer than any connection, and short enough that no time is out of range.
const FOREVER: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

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
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        let is_checked_below = context.guaranteed_below().includes(Set::of::<IntegrityChecked>());
        let check = if is_checked_below { Check::Below } else { Check::Crc };
        let settings = self.settings.clone();
        #[cfg(feature = "qlog")]
        let settings = settings.seen_as(context.role());
        let connection = ReliableConnection::new(
            inner,
            settings,
            &*self.congestion,
            check,
            ["damaged", "repeated", "after the end", "not sent by this machine"]
                .map(|reason| context.counts_drops("Reliable", reason)),
        );
        context.observes(connection.state());
        Ok(connection)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;
    use bertha_core::{Connection, Wrap};
    use bertha_datapath_sim::{Sim, pair};

    #[test]
    fn an_idle_time_out_may_be_for_ever() {
        let mut sim = Sim::new(1);
        let runtime = sim.runtime();
        sim.run(async {
            let (here, there) = pair(runtime.clone());
            let stack = Reliable::new().idle_timeout(Duration::MAX);
            let here = stack.wrap(here).await.unwrap();
            let there = stack.wrap(there).await.unwrap();
            for number in 0..3 {
                here.send(Buf::copy_of(&[number], 0).unwrap()).await.unwrap();
                assert_eq!(*there.recv().await.unwrap(), [number]);
                runtime.sleep(Duration::from_secs(500)).await;
            }
            here.close().await.unwrap();
        });
    }
}
