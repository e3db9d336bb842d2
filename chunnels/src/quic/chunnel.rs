//! The Chunnel itself.

use super::settings::Settings;
use super::{Certificates, QuicConnection, start};
use bertha_core::{Buf, Carries, Chunnel, ConnectContext, Error, Identity};
use std::time::Duration;

/// Carries messages over QUIC. See the [module](crate::quic).
#[derive(Debug, Clone, Identity)]
#[chunnel(
    guarantees(Encrypted, Authenticated, Reliable, Ordered, AtMostOnce, IntegrityChecked),
    no_early_data
)]
pub struct Quic {
    settings: Settings,
}

impl Quic {
    /// Uses packets of 1,352 bytes and a time-out of 30 seconds.
    pub fn new(certificates: Certificates) -> Self {
        Self { settings: Settings { certificates, packet: 1_352, idle: Duration::from_secs(30) } }
    }

    /// Sends packets of up to `bytes`, at least 1,200, and at most the largest message below. Choose the MTU of the path: about
    /// 1,400 over the Internet, up to 64 KiB within a machine.
    #[must_use]
    pub fn packet(mut self, bytes: u16) -> Self {
        self.settings.packet = bytes.max(1_200);
        self
    }

    /// Sets the time after which the connection fails if nothing arrived from the peer. After a third of it the peer is probed, so
    /// an idle connection lasts. At least 100 milliseconds. The ends use the smaller of the two.
    #[must_use]
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.settings.idle = timeout.max(Duration::from_millis(100));
        self
    }
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Quic {
    type Connection = QuicConnection<Inner>;

    /// Makes a QUIC connection: one round trip.
    ///
    /// # Errors
    /// [`Unavailable`](bertha_core::ErrorKind::Unavailable) over a stream, [`TooLarge`](bertha_core::ErrorKind::TooLarge) over
    /// datagrams of less than 1,200 bytes; [`Invalid`](bertha_core::ErrorKind::Invalid) if a certificate is missing or can't be
    /// used; [`Unauthenticated`](bertha_core::ErrorKind::Unauthenticated) if one end does not accept the other's, or if the
    /// negotiation was altered on its way;
    /// [`TimedOut`](bertha_core::ErrorKind::TimedOut) if the other end does not answer.
    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        start::start(&self.settings, inner, context.role(), context.transcript())
            .await
            .map_err(|error| error.at("Quic"))
    }
}
