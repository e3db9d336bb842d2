//! The Chunnel of any format.

use super::{FramedConnection, Framing};
use bertha_core::{Base, Carries, Chunk, Chunnel, ConnectContext, Error, Identity};

/// Cuts a stream of bytes into messages of a custom format. See the [module](crate::framing).
///
/// Two ends that negotiate compare no formats.
#[derive(Debug, Clone, Identity)]
pub struct Framed<F> {
    format: F,
}

impl<F> Framed<F> {
    /// Makes a Chunnel for messages in this format.
    pub fn new(format: F) -> Self {
        Self { format }
    }
}

impl<F: Framing, Inner: Carries<Chunk, Self>> Chunnel<Inner> for Framed<F> {
    type Connection = FramedConnection<Inner, F>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        _: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        Ok(framed(inner, self.format.clone()))
    }
}

/// Reserves headroom for headers.
pub(super) fn framed<F: Framing, Inner: bertha_core::Connection<Data = Chunk>>(
    inner: Inner,
    format: F,
) -> FramedConnection<Inner, F> {
    let below = inner.base().reserved();
    inner.base().reserve(F::HEADER);
    FramedConnection::new(inner, format, below)
}
