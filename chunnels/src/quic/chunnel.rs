//! The Chunnel itself.

use super::live::Live;
use super::settings::QuicSettings;
use super::{QuicConnection, TARGET, start};
use crate::certificates::side::Side;
use crate::certificates::{TlsIdentity, Trust};
use crate::congestion::Algorithm;
use bertha_core::guarantee::{PeerIdentified, Set};
use bertha_core::{Base, Buf, Carries, Chunnel, ConnectContext, Error, Identity, Roaming};
use std::sync::Arc;
use std::time::Duration;

/// Carries messages over QUIC. See the [module](crate::quic).
///
/// A value is for one end: a [client](Self::client) or a [server](Self::server). Clones share configuration and sessions.
#[derive(Debug, Clone, Identity)]
#[chunnel(
    guarantees(Encrypted, Authenticated, Reliable, Ordered, AtMostOnce, IntegrityChecked, ForwardSecret),
    adds = Self::identifies,
    no_early_data
)]
pub struct Quic {
    pub(crate) side: Side,
    settings: QuicSettings,
    /// A server's connections.
    pub(super) live: Arc<Live>,
}

impl Quic {
    /// Makes a client that accepts a server of this name (a DNS name or an IP address) whose proof `trust`
    /// accepts. With trust in raw public keys the name is a hint for the server alone.
    ///
    /// # Errors
    /// [`Invalid`](bertha_core::ErrorKind::Invalid) if `name` is no such name, or the trust can't be used.
    pub fn client(name: &str, trust: Trust) -> Result<Self, Error> {
        Ok(Self::of(Side::client(name, trust).map_err(|error| error.at("Quic"))?))
    }

    /// Makes a server that shows this identity, and accepts every client.
    ///
    /// # Errors
    /// [`Invalid`](bertha_core::ErrorKind::Invalid) if the identity can't be used.
    pub fn server(identity: TlsIdentity) -> Result<Self, Error> {
        Ok(Self::of(Side::server(identity).map_err(|error| error.at("Quic"))?))
    }

    /// Makes a Chunnel with packets of 1,352 bytes and a time-out of 30 seconds.
    pub(crate) fn of(side: Side) -> Self {
        Self {
            side,
            settings: QuicSettings { packet: 1_352, idle: Duration::from_secs(30), congestion: None },
            live: Arc::default(),
        }
    }

    /// Shows this identity, for servers that [require](Self::require_clients) an identity.
    #[must_use]
    pub fn identity(self, identity: TlsIdentity) -> Self {
        Self { side: self.side.with_identity(identity), ..self }
    }

    /// Shows this identity to clients that want a server of one of its names, in place of the first identity
    /// (server name indication, RFC 6066, section 3). A client that wants another name, or none, gets the first.
    /// A server has certificates or raw public keys, and not both: a mixture is
    /// [`Invalid`](bertha_core::ErrorKind::Invalid) when a client comes.
    #[must_use]
    pub fn also(self, identity: TlsIdentity) -> Self {
        Self { side: self.side.with_further_identity(identity), ..self }
    }

    /// Refuses clients that do not prove an identity that `trust` accepts.
    #[must_use]
    pub fn require_clients(self, trust: Trust) -> Self {
        Self { side: self.side.with_trust(trust), ..self }
    }

    /// Names this protocol of the application in the place of `bertha/3` (ALPN, RFC 7301), so that a client of
    /// another application, or of another version, is refused in the handshake. Both ends have to name the same
    /// protocol.
    ///
    /// # Errors
    /// [`Invalid`](bertha_core::ErrorKind::Invalid) if the name is empty, or longer than 255 bytes.
    pub fn protocol(self, name: &str) -> Result<Self, Error> {
        Ok(Self { side: self.side.with_protocol(name).map_err(|error| error.at("Quic"))?, ..self })
    }

    /// Appends the secrets of each connection to the file that the environment variable `SSLKEYLOGFILE` names, in
    /// the format that Wireshark reads. Everybody who reads that file reads the connections. Without the variable
    /// nothing is written.
    #[must_use]
    pub fn log_keys(self) -> Self {
        Self { side: self.side.with_key_log(), ..self }
    }

    /// Sets the congestion control, as [`ForQuinn`](crate::congestion::ForQuinn) runs it; the default is the
    /// Cubic of `quinn`. Each end chooses its own.
    #[must_use]
    pub fn with(mut self, congestion: impl Algorithm) -> Self {
        self.settings.congestion = Some(Arc::new(congestion));
        self
    }

    /// Sends packets of up to `bytes`, at least 1,200, and at most the largest message below. Choose the MTU of the path: about
    /// 1,400 over the Internet, up to 64 KiB within a machine.
    #[must_use]
    pub fn packet(mut self, bytes: u16) -> Self {
        self.settings.packet = bytes.max(1_200);
        self
    }

    /// Sets the time after which the connection fails if no message arrived from the peer. After a third of
    /// this time the peer is probed, so that an idle connection lasts. At least 100 milliseconds. The ends
    /// use the smaller of their two times.
    #[must_use]
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.settings.idle = timeout.max(Duration::from_millis(100));
        self
    }

    fn identifies(&self) -> Set {
        if self.side.identifies_peer() { Set::of::<PeerIdentified>() } else { Set::NONE }
    }
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Quic {
    type Connection = QuicConnection<Inner>;

    /// Makes a QUIC connection: one round trip, and with negotiation another for the proofs of the agreement.
    ///
    /// # Errors
    /// [`Unavailable`](bertha_core::ErrorKind::Unavailable) over a stream,
    /// [`TooLarge`](bertha_core::ErrorKind::TooLarge) over datagrams of less than 1,200 bytes;
    /// [`Invalid`](bertha_core::ErrorKind::Invalid) if the value is for the other end;
    /// [`Unauthenticated`](bertha_core::ErrorKind::Unauthenticated) if one end does not accept the other's
    /// identity, or the agreement was altered on its way; [`Refused`](bertha_core::ErrorKind::Refused) if the
    /// other end speaks another protocol; [`TimedOut`](bertha_core::ErrorKind::TimedOut) if the other end
    /// does not answer.
    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        let peer = inner.base().peer_addr();
        start::start(&self.side, &self.settings, &self.live, inner, context).await.map_err(|error| {
            tracing::debug!(target: TARGET, %peer, %error, "the handshake failed");
            error.at("Quic")
        })
    }

    fn roaming<'a>(&'a self, into: &mut Vec<&'a dyn Roaming>) {
        if !self.side.is_client() {
            into.push(self);
        }
    }
}
