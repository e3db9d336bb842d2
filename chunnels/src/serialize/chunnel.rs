//! The Chunnel itself.

use super::{Bincode, Codec, Encoding, KeyPlace, SerializeConnection, schema};
use bertha_core::{Buf, Carries, Chunnel, ConnectContext, Error, Identity};
use std::fmt;
use std::marker::PhantomData;

/// Carries messages of type `T` over a connection that carries bytes, encoded with `C`.
#[derive(Identity)]
#[chunnel(capability = Self::encoding)]
pub struct Serialize<T, C = Bincode> {
    codec: C,
    /// The name of the message type, if it is not to be the one that it has in the program.
    schema: Option<String>,
    /// Kept as a function, so that a stack can be described whatever `C` is, and nothing is written before.
    encoding: fn(&C, Option<&str>) -> Encoding,
    // Holds no `T`, so it can be shared between threads whatever `T` is.
    message: PhantomData<fn(T) -> T>,
}

impl<T, C: Codec<T> + Default> Serialize<T, C> {
    /// With the codec's default options, and the type's name as schema.
    pub fn new() -> Self {
        Self::with_codec(C::default())
    }
}

impl<T, C: Codec<T>> Serialize<T, C> {
    /// With this codec, and the type's name as schema.
    pub fn with_codec(codec: C) -> Self {
        let encoding = |codec: &C, schema: Option<&str>| Encoding {
            codec: C::NAME.into(),
            version: C::VERSION,
            options: codec.options(),
            key: C::Key::OFFSET.map(|offset| offset as u64),
            schema: schema.map_or_else(schema::of::<T>, str::to_owned),
        };
        Self { codec, schema: None, encoding, message: PhantomData }
    }
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

    /// What encodes and decodes: for a Chunnel that takes the place of this one.
    pub fn codec(&self) -> &C {
        &self.codec
    }

    /// What the other end must have as well.
    pub fn encoding(&self) -> Encoding {
        (self.encoding)(&self.codec, self.schema.as_deref())
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
        _: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        Ok(SerializeConnection::new(inner, self.codec.clone()))
    }
}

impl<T, C: Codec<T> + Default> Default for Serialize<T, C> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, C: Clone> Clone for Serialize<T, C> {
    fn clone(&self) -> Self {
        let (codec, schema) = (self.codec.clone(), self.schema.clone());
        Self { codec, schema, encoding: self.encoding, message: PhantomData }
    }
}

impl<T, C> fmt::Debug for Serialize<T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Encoding { schema, codec, .. } = self.encoding();
        write!(f, "Serialize({schema} as {codec})")
    }
}
