//! The Chunnel itself.

use super::keys::Secret;
use super::{SealConnection, hello};
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

/// The capability: an identifier of the key, which shows whether two ends have the same one and nothing else about it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, Capability)]
#[capability(exact)]
pub(super) struct KeyId {
    id: [u8; 8],
}

impl Seal {
    /// Seals with a key of 32 random bytes that both ends share. Not a password: guesses can be tried against a recorded
    /// connection.
    ///
    /// Ends with different keys are refused when they connect.
    pub fn new(key: &[u8; 32]) -> Self {
        Self { secret: Arc::new(Secret::new(key)) }
    }

    fn capability(&self) -> KeyId {
        KeyId { id: self.secret.id() }
    }
}

/// Omits the key.
impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seal(..)")
    }
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Seal {
    type Connection = SealConnection<Inner>;

    /// Exchanges hellos with the other end: one round trip.
    ///
    /// # Errors
    /// [`TimedOut`](bertha_core::ErrorKind::TimedOut) if it does not answer for ten seconds;
    /// [`Unauthenticated`](bertha_core::ErrorKind::Unauthenticated) if all hellos within a second prove another key or another
    /// [transcript](ConnectContext::transcript).
    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        let below = inner.base().reserved();
        let bound = self.secret.bind(context.transcript());
        let agreed = hello::exchange(&inner, below, &bound).await?;
        let keys = bound.keys(agreed.ours.salt, agreed.theirs)?;
        Ok(SealConnection::new(inner, below, agreed, keys))
    }
}
