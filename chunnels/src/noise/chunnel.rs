//! The Chunnel itself.

use super::configuration::{Configuration, Keys, Pattern, Side};
use super::{NoiseConnection, NoiseKey, TARGET, exchange};
use bertha_core::guarantee::{PeerIdentified, Set};
use bertha_core::{Base, Buf, Carries, Chunnel, ConnectContext, Error, Identity};
use std::fmt;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Encrypts and authenticates messages, after a handshake of the Noise protocol framework. See the [module](crate::noise).
#[derive(Clone, Identity)]
#[chunnel(
    capability = Self::capability,
    guarantees(Encrypted, Authenticated, IntegrityChecked, AtMostOnce, ForwardSecret),
    adds = Self::adds,
    no_early_data
)]
pub struct Noise {
    configuration: Arc<Configuration>,
}

impl Noise {
    /// Makes a Chunnel for connections between ends that share a key of 32 random bytes. It is not a
    /// password: guesses can be tried against a recorded connection.
    ///
    /// Each end knows that the other end has the key, and nothing else about it. Ends with different keys are
    /// refused when they connect.
    pub fn shared(key: &[u8; 32]) -> Self {
        Self::with(Configuration::Shared(Zeroizing::new(*key)))
    }

    /// Makes a Chunnel for the connections of a client that has `key` to the server with the public key
    /// `server`.
    ///
    /// A client that expects another server's key is refused when it connects.
    pub fn client(key: NoiseKey, server: [u8; 32]) -> Self {
        Self::with(Configuration::Client { key, server })
    }

    /// Makes a Chunnel for the connections of a server that has `key`, to clients with the public keys
    /// `trusted` alone.
    pub fn server(key: NoiseKey, trusted: impl IntoIterator<Item = [u8; 32]>) -> Self {
        Self::with(Configuration::Server { key, trusted: trusted.into_iter().collect() })
    }

    fn with(configuration: Configuration) -> Self {
        Self { configuration: Arc::new(configuration) }
    }

    fn capability(&self) -> Keys {
        self.configuration.capability()
    }

    fn adds(&self) -> Set {
        match self.configuration.pattern() {
            Pattern::Shared => Set::NONE,
            Pattern::Static => Set::of::<PeerIdentified>(),
        }
    }
}

/// The output omits the keys.
impl fmt::Debug for Noise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Noise").field("pattern", &self.configuration.pattern()).finish_non_exhaustive()
    }
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Noise {
    type Connection = NoiseConnection<Inner>;

    /// Carries out the handshake: one round trip for the client. The server waits until the client has confirmed it.
    ///
    /// # Errors
    /// [`TimedOut`](bertha_core::ErrorKind::TimedOut) if the other end does not answer for ten seconds;
    /// [`Unauthenticated`](bertha_core::ErrorKind::Unauthenticated) if for a second it has shown only another
    /// key, a key that is not trusted, or another [transcript](ConnectContext::transcript);
    /// [`Invalid`](bertha_core::ErrorKind::Invalid) if this end has the keys of the other role.
    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        let transcript = context.transcript();
        let side = self.configuration.side(context.role(), transcript.is_some())?;
        let below = inner.base().reserved();
        let established = match side {
            Side::Initiator => exchange::initiate(&inner, below, &self.configuration, transcript).await,
            Side::Responder => exchange::respond(&inner, below, &self.configuration, transcript).await,
        };
        let peer = inner.base().peer_addr();
        let established = established.map_err(|error| {
            tracing::debug!(target: TARGET, %peer, %error, "the handshake failed");
            error.at("Noise")
        })?;
        tracing::debug!(target: TARGET, %peer, "the handshake is done");
        context.secured(established.session.secured());
        let forged = context.counts_drops("Noise", "forged or damaged");
        let repeated = context.counts_drops("Noise", "repeated or late");
        Ok(NoiseConnection::new(inner, below, established, [forged, repeated]))
    }
}
