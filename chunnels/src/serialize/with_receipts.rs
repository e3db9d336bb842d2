//! Typed messages with their receipts.

use super::{Codec, Postcard, Serialize, SerializeConnection};
use crate::burst::Decoded;
use bertha_core::{
    Buf, Carries, Chunnel, ConnectContext, Connection, Describe, Error, Identity, Node, WithReceipt,
    debug_fields, forward,
};
use std::fmt::{self, Debug};

/// Works as [`Serialize`], and keeps the receipt of each received message beside the message, for connections on which
/// messages are [acknowledged](bertha_core::Properties::receipts). Made by [`Serialize::with_receipts`].
///
/// It stands for `Serialize` in the agreement of two ends. Over a connection without receipts,
/// [`WithReceipt::done`] just returns the message.
pub struct SerializeWithReceipts<T, C = Postcard> {
    serialize: Serialize<T, C>,
}

impl<T, C> Serialize<T, C> {
    /// Returns the Chunnel that keeps the receipts of received messages: each is a [`WithReceipt`], and is delivered
    /// again unless [`WithReceipt::done`] is called.
    ///
    /// ```
    /// # use bertha_chunnels::serialize::Serialize;
    /// # #[derive(serde::Serialize, serde::Deserialize)] struct Order { book: String }
    /// let orders = Serialize::<Order>::new().with_receipts();
    /// ```
    #[must_use]
    pub fn with_receipts(self) -> SerializeWithReceipts<T, C> {
        SerializeWithReceipts { serialize: self }
    }
}

impl<T, C> Identity for SerializeWithReceipts<T, C> {
    type Id = <Serialize<T, C> as Identity>::Id;
    type Parameters = <Serialize<T, C> as Identity>::Parameters;
    type Guarantees = <Serialize<T, C> as Identity>::Guarantees;
    type Kind = <Serialize<T, C> as Identity>::Kind;
    const NAME: &'static str = <Serialize<T, C> as Identity>::NAME;
}

impl<T, C> Describe for SerializeWithReceipts<T, C> {
    fn describe(&self, into: &mut Vec<Node>) {
        self.serialize.describe(into);
    }
}

impl<T, C, Inner> Chunnel<Inner> for SerializeWithReceipts<T, C>
where
    T: Send + 'static,
    C: Codec<T>,
    Inner: Carries<Buf, Self>,
{
    type Connection = SerializeWithReceiptsConnection<Inner, T, C>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        let malformed = context.counts_drops("Serialize", "malformed");
        Ok(SerializeWithReceiptsConnection { serialize: self.serialize.over(inner, malformed) })
    }
}

impl<T, C: Clone> Clone for SerializeWithReceipts<T, C> {
    fn clone(&self) -> Self {
        Self { serialize: self.serialize.clone() }
    }
}

impl<T, C> fmt::Debug for SerializeWithReceipts<T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize.fmt(f)
    }
}

/// The connection of [`SerializeWithReceipts`] over one that carries bytes.
///
/// Errors, loss, backpressure and cancellation are those of [`SerializeConnection`]. A malformed message is counted and
/// dropped, so that it is delivered again until the service puts it aside.
pub struct SerializeWithReceiptsConnection<Inner, T, C> {
    serialize: SerializeConnection<Inner, T, C>,
}

impl<Inner, T, C> SerializeWithReceiptsConnection<Inner, T, C>
where
    Inner: Connection<Data = Buf>,
    T: Send + 'static,
    C: Codec<T>,
{
    /// Returns the number of messages that were dropped because they did not decode.
    pub fn malformed(&self) -> u64 {
        self.serialize.malformed()
    }

    fn decode(&self, bytes: Buf) -> Option<WithReceipt<T>> {
        let message = self.serialize.decode(&bytes)?;
        Some(WithReceipt::new(message, bytes))
    }
}

impl<Inner, T, C> Connection for SerializeWithReceiptsConnection<Inner, T, C>
where
    Inner: Connection<Data = Buf>,
    T: Send + 'static,
    C: Codec<T>,
{
    type Data = WithReceipt<T>;
    type Base = Inner::Base;

    forward!(self.serialize => base, mtu, drain, close);

    fn send(&self, message: WithReceipt<T>) -> impl Future<Output = Result<(), Error>> + Send {
        self.serialize.send(message.done())
    }

    async fn recv(&self) -> Result<WithReceipt<T>, Error> {
        loop {
            let bytes = self.serialize.inner().recv().await?;
            if let Some(message) = self.decode(bytes) {
                return Ok(message);
            }
        }
    }

    fn send_batch(
        &self,
        messages: impl Iterator<Item = WithReceipt<T>> + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        self.serialize.send_batch(messages.map(WithReceipt::done))
    }

    async fn recv_batch(
        &self,
        into: &mut (impl Extend<WithReceipt<T>> + Send),
        limit: usize,
    ) -> Result<usize, Error> {
        let mut decoded = Decoded { into, decode: |bytes| self.decode(bytes), count: 0 };
        // A burst of malformed messages alone would return zero.
        while decoded.count == 0 && limit > 0 {
            self.serialize.inner().recv_batch(&mut decoded, limit).await?;
        }
        Ok(decoded.count)
    }
}

debug_fields!(SerializeWithReceiptsConnection<Inner: Debug, T, C> { serialize });
