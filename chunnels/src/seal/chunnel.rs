//! The Chunnel itself.

use super::keys::Secret;
use super::{SealConnection, greeting};
use bertha_core::{Base, Buf, Capability, Carries, Chunnel, ConnectContext, Error, Identity};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Encrypts and authenticates messages with a key that both ends share. See the [module](crate::seal).
#[derive(Clone, Identity)]
#[chunnel(
    capability = Self::capability,
    guarantees(Encrypted, Authenticated, IntegrityChecked, AtMostOnce),
    no_early_data
)]
pub struct Seal {
    secret: Arc<Secret>,
}

/// The two ends have to have the same key. Tells nothing about it, but that it is the same.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, Capability)]
#[capability(exact)]
pub(super) struct KeyId {
    id: [u8; 8],
}

impl Seal {
    /// With 32 bytes from a good source of randomness, which both ends have and nobody else. Not a password: whoever records
    /// a connection can try out guesses.
    ///
    /// Ends with different keys are refused when they connect.
    pub fn new(key: &[u8; 32]) -> Self {
        Self { secret: Arc::new(Secret::new(key)) }
    }

    fn capability(&self) -> KeyId {
        KeyId { id: self.secret.id() }
    }
}

/// Without the key.
impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seal(..)")
    }
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Seal {
    type Connection = SealConnection<Inner>;

    /// Exchanges greetings with the other end: a round trip.
    ///
    /// # Errors
    /// [`TimedOut`](bertha_core::ErrorKind::TimedOut) if it does not answer for ten seconds;
    /// [`Unauthenticated`](bertha_core::ErrorKind::Unauthenticated) if all that greets for a second has another key or another
    /// [transcript](ConnectContext::transcript).
    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        let below = inner.base().reserved();
        let bond = self.secret.bond(context.transcript());
        let greeted = greeting::exchange(&inner, below, &bond).await?;
        let keys = bond.keys(greeted.ours.salt, greeted.theirs)?;
        Ok(SealConnection::new(inner, below, greeted, keys))
    }
}
