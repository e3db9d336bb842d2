//! The Chunnel itself.

use super::RpcConnection;
use super::call_codec::CallCodec;
use crate::serialize::{Codec, Encoding, Postcard};
use bertha_core::{Base, Buf, Carries, Chunnel, ConnectContext, Error, Identity};

/// Carries calls and responses over a connection that carries bytes. See the [module](crate::rpc).
///
/// The two ends agree on the codec of requests and responses, by its name, version and options.
#[derive(Debug, Clone, PartialEq, Eq, Identity)]
#[chunnel(needs(Reliable, AtMostOnce), no_early_data, capability = Self::call_codec)]
pub struct Rpc {
    codec: CallCodec,
}

impl Rpc {
    /// Makes a Chunnel for calls in the format of [`Postcard`]. Further settings belong to the [client](super::Client)
    /// and to the [server](super::serve()).
    pub fn new() -> Self {
        Self { codec: CallCodec::of(Encoding::of::<(), _>(&Postcard)) }
    }

    /// Names the codec of the calls, which [`Client::codec`](super::Client::codec) and the service choose. Ends with
    /// different codecs do not agree.
    #[must_use]
    pub fn codec<K: Codec<()>>(self, codec: &K) -> Self {
        self.encoding(Encoding::of::<(), K>(codec))
    }

    /// Names the codec of the calls by an encoding, for a program that learns only when it runs how its calls are encoded, or has them
    /// encoded elsewhere. The key and the schema of the encoding are not compared. See
    /// [calls of bytes](crate::rpc#calls-of-bytes).
    ///
    /// ```
    /// use bertha_chunnels::Rpc;
    /// use bertha_chunnels::serialize::Encoding;
    ///
    /// let rpc = Rpc::new().encoding(Encoding::named("cbor"));
    /// # let _ = rpc;
    /// ```
    #[must_use]
    pub fn encoding(self, encoding: Encoding) -> Self {
        Self { codec: CallCodec::of(encoding) }
    }

    fn call_codec(&self) -> CallCodec {
        self.codec.clone()
    }
}

impl Default for Rpc {
    fn default() -> Self {
        Self::new()
    }
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Rpc {
    type Connection = RpcConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        inner.base().properties().refuse_receipts("Rpc")?;
        Ok(RpcConnection::new(inner, context.counts_drops("Rpc", "malformed")))
    }
}
