//! The Chunnel itself.

use super::{LARGEST, TARGET, TlsConnection, start};
use crate::certificates::side::Side;
use crate::certificates::{TlsIdentity, Trust};
use bertha_core::guarantee::{PeerIdentified, Set};
use bertha_core::{Base, Chunnel, ConnectContext, Connection, Error, Identity, Octets};

/// Carries messages over TLS 1.3. See the [module](crate::tls).
///
/// A value is for one end: a [client](Self::client) or a [server](Self::server). Clones share configuration and sessions.
#[derive(Debug, Clone, Identity)]
#[chunnel(
    guarantees(Encrypted, Authenticated, IntegrityChecked, AtMostOnce, ForwardSecret),
    adds = Self::identifies,
    needs(Reliable, Ordered),
    no_early_data
)]
pub struct Tls {
    pub(super) side: Side,
    /// Number of bytes of the largest message.
    pub(super) largest: usize,
}

impl Tls {
    /// Makes a client that accepts a server of this name (a DNS name or an IP address) whose proof `trust`
    /// accepts. With trust in raw public keys the name is a hint for the server alone.
    ///
    /// # Errors
    /// [`Invalid`](bertha_core::ErrorKind::Invalid) if `name` is no such name, or the trust can't be used.
    pub fn client(name: &str, trust: Trust) -> Result<Self, Error> {
        let side = Side::client(name, trust).map_err(|error| error.at("Tls"))?;
        Ok(Self { side, largest: LARGEST })
    }

    /// Makes a server that shows this identity, and accepts every client.
    ///
    /// # Errors
    /// [`Invalid`](bertha_core::ErrorKind::Invalid) if the identity can't be used.
    pub fn server(identity: TlsIdentity) -> Result<Self, Error> {
        let side = Side::server(identity).map_err(|error| error.at("Tls"))?;
        Ok(Self { side, largest: LARGEST })
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
        let side = self.side.with_protocol(name).map_err(|error| error.at("Tls"))?;
        Ok(Self { side, ..self })
    }

    /// Appends the secrets of each connection to the file that the environment variable `SSLKEYLOGFILE` names, in
    /// the format that Wireshark reads. Everybody who reads that file reads the connections. Without the variable
    /// nothing is written.
    #[must_use]
    pub fn log_keys(self) -> Self {
        Self { side: self.side.with_key_log(), ..self }
    }

    /// Sets the number of bytes of the largest message, 1 MiB by default and 4 GiB at most. Both ends have to set the same number: a longer
    /// message ends the connection of its receiver, which has up to as many bytes of one message in memory.
    #[must_use]
    pub fn largest(self, bytes: usize) -> Self {
        Self { largest: bytes.min(u32::MAX as usize), ..self }
    }

    fn identifies(&self) -> Set {
        if self.side.identifies_peer() { Set::of::<PeerIdentified>() } else { Set::NONE }
    }
}

impl<Inner: Connection<Data: Octets>> Chunnel<Inner> for Tls {
    type Connection = TlsConnection<Inner>;

    /// Completes the handshake: one round trip, and with negotiation another for the proofs of the agreement.
    ///
    /// # Errors
    /// [`Unauthenticated`](bertha_core::ErrorKind::Unauthenticated) if one end does not accept the other's
    /// identity, or the agreement was altered on its way; [`Refused`](bertha_core::ErrorKind::Refused) if the
    /// other end speaks another protocol; [`TimedOut`](bertha_core::ErrorKind::TimedOut) after ten seconds;
    /// [`Reset`](bertha_core::ErrorKind::Reset) if the stream ends before;
    /// [`Invalid`](bertha_core::ErrorKind::Invalid) if the value is for the other end.
    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        let peer = inner.base().peer_addr();
        start::start(&self.side, self.largest, inner, context).await.map_err(|error| {
            self.side.handshakes().failed();
            tracing::debug!(target: TARGET, %peer, %error, "the handshake failed");
            error.at("Tls")
        })
    }
}
