//! MessagePack as a codec.

/// MessagePack, which libraries of nearly every language have. The feature `messagepack`, off by default, implements the codec.
///
/// A struct is a map of the names of its fields, as a Python dictionary is: `{"id": 1}`. See
/// [codecs of other languages](crate::serialize#codecs-that-other-languages-have). A struct without fields is an empty array.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, bertha_core::Identity)]
#[chunnel(parameter)]
pub struct MessagePack;

#[cfg(feature = "messagepack")]
mod codec {
    use super::MessagePack;
    use crate::serialize::bounds::NestedValue;
    use crate::serialize::described::{FormatError, Whole, write_into};
    use crate::serialize::{Anywhere, Codec};
    use rmp_serde::decode::Error;
    use rmp_serde::{Deserializer, Serializer, encode};
    use serde::Serialize;
    use serde::de::{Deserialize, DeserializeOwned};

    impl<T: Serialize + DeserializeOwned + Send + 'static> Codec<T> for MessagePack {
        type EncodeError = FormatError;
        type DecodeError = FormatError;
        type Key = Anywhere;

        const NAME: &'static str = "messagepack";
        const DESCRIBES_ITSELF: bool = true;

        #[inline]
        fn encode(&self, message: &T, into: &mut [u8]) -> Result<Option<usize>, FormatError> {
            let write = |rest: &mut &mut [u8]| {
                NestedValue::message(message).serialize(&mut Serializer::new(rest).with_struct_map())
            };
            match write_into(into, write) {
                Ok(written) => Ok(Some(written)),
                Err(encode::Error::InvalidValueWrite(_)) => Ok(None),
                Err(reason) => Err(FormatError::new(&reason)),
            }
        }

        #[inline]
        fn decode(&self, bytes: &[u8]) -> Result<(T, usize), FormatError> {
            let mut deserializer = Deserializer::from_read_ref(bytes);
            let Whole(message) =
                Whole::deserialize(&mut deserializer).map_err(|error| FormatError::new(&error))?;
            // It does not tell where it stands, but nothing can be read at the end.
            match bool::deserialize(&mut deserializer) {
                Err(Error::InvalidMarkerRead(_)) => Ok((message, bytes.len())),
                _ => Ok((message, length::<T>(bytes)?)),
            }
        }
    }

    /// Returns the length of the message at the start of `bytes`, by a reader that tells it and copies strings.
    #[cold]
    fn length<T: DeserializeOwned>(bytes: &[u8]) -> Result<usize, FormatError> {
        let mut deserializer = Deserializer::new(bytes);
        Whole::<T>::deserialize(&mut deserializer).map_err(|error| FormatError::new(&error))?;
        Ok(bytes.len() - deserializer.get_ref().len())
    }
}
