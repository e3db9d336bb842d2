//! The Chunnel itself.

use super::{Codec, Encoding, Postcard, SerializeConnection, schema};
use bertha_core::{Base, Buf, Carries, Chunnel, ConnectContext, Connection, DropCounter, Error, Identity};
use std::fmt;
use std::marker::PhantomData;

/// Carries messages of type `T` over a connection that carries bytes, encoded with `C`.
///
/// Messages are [bounded](crate::serialize#malformed-messages) in their length, in how deep their values are nested, and in the number
/// of elements that take no bytes.
#[derive(Identity)]
#[chunnel(apart = 0, capability = Self::encoding)]
pub struct Serialize<T, C = Postcard> {
    codec: C,
    /// The name of the message type, unless it is that of the Rust type.
    schema: Option<String>,
    /// A function, so that stacks can be described without the bound on `C`, and the text is made when it is needed.
    encoding: fn(&C, Option<&str>) -> Encoding,
    // Holds no `T`, so it can be shared between threads whatever `T` is.
    message: PhantomData<fn(T) -> T>,
}

impl<T, C: Codec<T> + Default> Serialize<T, C> {
    /// Makes the Chunnel with the codec's default options. The schema is the type's name, or none if the codec's messages
    /// [describe themselves](Codec::DESCRIBES_ITSELF).
    pub fn new() -> Self {
        Self::with_codec(C::default())
    }
}

impl<T, C: Codec<T>> Serialize<T, C> {
    /// Makes the Chunnel with this codec. The schema is as for [`new`](Self::new).
    pub fn with_codec(codec: C) -> Self {
        let encoding = |codec: &C, schema: Option<&str>| Encoding {
            schema: schema.map_or_else(default_schema::<T, C>, str::to_owned),
            ..Encoding::of::<T, C>(codec)
        };
        Self { codec, schema: None, encoding, message: PhantomData }
    }
}

fn default_schema<T, C: Codec<T>>() -> String {
    if C::DESCRIBES_ITSELF { String::new() } else { schema::of::<T>() }
}

impl<T, C> Serialize<T, C> {
    /// Names the message type, instead of the name that it has in the program: as in `kv-1`.
    ///
    /// Only ends that give the same name connect to each other. Give another name whenever the type changes in a way
    /// that the other end would misread.
    #[must_use]
    pub fn schema(mut self, name: impl Into<String>) -> Self {
        self.schema = Some(name.into());
        self
    }

    /// Returns the codec, for a Chunnel that replaces this Chunnel.
    pub fn codec(&self) -> &C {
        &self.codec
    }

    /// Returns the encoding, which must be the encoding of the other end.
    pub fn encoding(&self) -> Encoding {
        (self.encoding)(&self.codec, self.schema.as_deref())
    }
}

impl<T, C: Codec<T>> Serialize<T, C> {
    /// Returns the connection over `inner`, which counts malformed messages in `malformed`.
    pub(crate) fn over<Inner>(&self, inner: Inner, malformed: DropCounter) -> SerializeConnection<Inner, T, C>
    where
        T: Send + 'static,
        Inner: Connection<Data = Buf>,
    {
        SerializeConnection::new(inner, self.codec.clone(), malformed)
    }
}

impl<T, C, Inner> Chunnel<Inner> for Serialize<T, C>
where
    T: Send + 'static,
    C: Codec<T>,
    Inner: Carries<Buf, Self>,
{
    type Connection = SerializeConnection<Inner, T, C>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        inner.base().properties().refuse_receipts("Serialize")?;
        Ok(self.over(inner, context.counts_drops("Serialize", "malformed")))
    }
}

impl<T, C: Codec<T> + Default> Default for Serialize<T, C> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, C: Clone> Clone for Serialize<T, C> {
    fn clone(&self) -> Self {
        let codec = self.codec.clone();
        let schema = self.schema.clone();
        Self { codec, schema, encoding: self.encoding, message: PhantomData }
    }
}

impl<T, C> fmt::Debug for Serialize<T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Encoding { schema, codec, .. } = self.encoding();
        let of = if schema.is_empty() { "" } else { " as " };
        write!(f, "Serialize({schema}{of}{codec})")
    }
}
