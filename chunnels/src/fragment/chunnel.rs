//! The Chunnel itself.

use super::FragmentConnection;
use super::piece::{LEAST_PIECE, MOST_PIECE};
use bertha_core::{Buf, Capability, Carries, Chunnel, ConnectContext, Error, Identity};
use serde::{Deserialize, Serialize};

/// Splits messages that are too large for the connection below. See the [module](crate::fragment).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Identity)]
#[chunnel(capability = Self::capability)]
pub struct Fragment {
    pub(super) limit: u32,
    pub(super) piece: usize,
    pub(super) spare: usize,
    pub(super) discovers: bool,
}

/// For the 4,096 pieces of 1,300 bytes and their records that `Reliable` may hand on before one that was sent earlier.
pub(super) const SPARE: usize = 8 << 20;

/// The largest message, on which the two ends have to agree.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, Capability)]
#[capability(exact, version = 2)]
pub(super) struct Limit {
    bytes: u32,
}

impl Fragment {
    /// For messages of up to 64 MiB, in pieces of up to 1,300 bytes.
    pub fn new() -> Self {
        Self { limit: 64 * 1024 * 1024, piece: 1_300, spare: SPARE, discovers: false }
    }

    /// For messages of up to `bytes`, at most 127 MiB. Both ends need the same limit.
    #[must_use]
    pub fn limit(self, bytes: u32) -> Self {
        Self { limit: bytes.clamp(1, 127 * 1024 * 1024), ..self }
    }

    /// In pieces of up to `bytes`, from 64 to 65,535, less if the connection below carries less. Larger ones cost less; one
    /// that exceeds what the path carries is fragmented by the network, and then any lost fragment loses it.
    #[must_use]
    pub fn piece(self, bytes: usize) -> Self {
        Self { piece: bytes.clamp(LEAST_PIECE, MOST_PIECE), ..self }
    }

    /// Finds out how large messages may be on the path to the peer, and sends none that are larger: in pieces as large as the
    /// path carries, up to [`piece`](Self::piece) if that is set after this. See the [module](crate::fragment). No effect
    /// over streams.
    #[must_use]
    pub fn discover_path(self) -> Self {
        Self { discovers: true, piece: MOST_PIECE, ..self }
    }

    /// Keeps up to `bytes` of messages that lack a piece, besides what three of the largest take. 8 MiB at first.
    ///
    /// A message is dropped and counted when there is no room for it. Above [`Reliable`](crate::Reliable) that must not be:
    /// what it repeats comes after as many later pieces as its buffer counts messages, so `bytes` has to be that number times
    /// the peer's [`piece`](Self::piece) and 512. The 8 MiB are enough for the settings that both have at first.
    #[must_use]
    pub fn assembly(self, bytes: usize) -> Self {
        Self { spare: bytes, ..self }
    }

    fn capability(&self) -> Limit {
        Limit { bytes: self.limit }
    }
}

impl Default for Fragment {
    fn default() -> Self {
        Self::new()
    }
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Fragment {
    type Connection = FragmentConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        _: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        Ok(FragmentConnection::new(inner, self))
    }
}
