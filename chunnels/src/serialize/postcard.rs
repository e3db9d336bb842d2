//! postcard as a codec.

/// postcard 1, the default codec: integers and lengths have variable length, so messages are compact but
/// their fields have no fixed offsets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, bertha_core::Identity)]
#[chunnel(parameter)]
pub struct Postcard;

#[cfg(feature = "postcard")]
pub use codec::PostcardError;

#[cfg(feature = "postcard")]
mod codec {
    use super::Postcard;
    use crate::serialize::bounds::{DEPTH, EMPTY_ELEMENTS, Elements, Nested, NestedValue};
    use crate::serialize::{Anywhere, Codec};
    use postcard::de_flavors::{Flavor, Slice};
    use postcard::{Deserializer, Error};
    use serde::Serialize;
    use serde::de::{DeserializeOwned, DeserializeSeed};
    use std::fmt;

    /// The reason why [`Postcard`] has no encoding of a message, or finds no message in bytes.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct PostcardError(Error);

    impl fmt::Display for PostcardError {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            match &self.0 {
                // postcard keeps no text.
                Error::SerdeSerCustom => {
                    write!(f, "a value refuses to be encoded, or is nested deeper than {DEPTH} levels")
                }
                Error::SerdeDeCustom => write!(
                    f,
                    "a value refuses its encoding, is nested deeper than {DEPTH} levels, or has over {EMPTY_ELEMENTS} elements more than bytes"
                ),
                error => error.fmt(f),
            }
        }
    }

    impl std::error::Error for PostcardError {}

    impl<T: Serialize + DeserializeOwned + Send + 'static> Codec<T> for Postcard {
        type EncodeError = PostcardError;
        type DecodeError = PostcardError;
        type Key = Anywhere;

        const NAME: &'static str = "postcard";

        #[inline]
        fn encode(&self, message: &T, into: &mut [u8]) -> Result<Option<usize>, PostcardError> {
            match postcard::to_slice(&NestedValue::message(message), into) {
                Ok(written) => Ok(Some(written.len())),
                Err(Error::SerializeBufferFull) => Ok(None),
                Err(other) => Err(PostcardError(other)),
            }
        }

        #[inline]
        fn decode(&self, bytes: &[u8]) -> Result<(T, usize), PostcardError> {
            let elements = Elements::of_bytes(bytes.len());
            let mut deserializer = Deserializer::from_flavor(Announcing(Slice::new(bytes)));
            let message = Nested::message(&elements).deserialize(&mut deserializer).map_err(PostcardError)?;
            let rest = deserializer.finalize().map_err(PostcardError)?;
            Ok((message, bytes.len() - rest.len()))
        }
    }

    /// Bytes whose sequences tell their length also if it is more than the bytes that are left. postcard keeps such a length
    /// to itself where the flavor has a hint of its size; the bounds need it.
    struct Announcing<'de>(Slice<'de>);

    impl<'de> Flavor<'de> for Announcing<'de> {
        type Remainder = &'de [u8];
        type Source = &'de [u8];

        #[inline]
        fn pop(&mut self) -> Result<u8, Error> {
            self.0.pop()
        }

        #[inline]
        fn try_take_n(&mut self, count: usize) -> Result<&'de [u8], Error> {
            self.0.try_take_n(count)
        }

        #[inline]
        fn finalize(self) -> Result<&'de [u8], Error> {
            self.0.finalize()
        }
    }
}
