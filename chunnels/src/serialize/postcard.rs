//! postcard as a codec.

/// postcard 1: integers of variable length, so messages are compact but their fields have no fixed offsets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Postcard;

#[cfg(feature = "postcard")]
mod codec {
    use super::Postcard;
    use crate::serialize::{Anywhere, Codec};
    use postcard::Error;
    use serde::{Serialize, de::DeserializeOwned};

    impl<T: Serialize + DeserializeOwned + Send + 'static> Codec<T> for Postcard {
        type EncodeError = Error;
        type DecodeError = Error;
        type Key = Anywhere;

        const NAME: &'static str = "postcard";

        #[inline]
        fn encode(&self, message: &T, into: &mut [u8]) -> Result<Option<usize>, Error> {
            match postcard::to_slice(message, into) {
                Ok(written) => Ok(Some(written.len())),
                Err(Error::SerializeBufferFull) => Ok(None),
                Err(other) => Err(other),
            }
        }

        #[inline]
        fn decode(&self, bytes: &[u8]) -> Result<(T, usize), Error> {
            let (message, rest) = postcard::take_from_bytes(bytes)?;
            Ok((message, bytes.len() - rest.len()))
        }
    }
}
