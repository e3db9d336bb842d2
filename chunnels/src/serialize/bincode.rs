//! bincode 2 as a codec.

/// bincode 2 with integers of fixed length, little endian. The feature `bincode`, off by default,
/// implements the codec.
///
/// Every integer and every length takes a fixed number of bytes, so a field that only has fields of fixed size in
/// front of it stands at an offset that is known without decoding. `LIMIT` is the longest message in bytes, and bounds the
/// allocation for a length field; both ends need the same. The default is 64 MiB, as long as any message of
/// [`Fragment`](crate::Fragment) and of framed TCP.
///
/// The crate `bincode` has no maintainers any more (RUSTSEC-2025-0141). A message whose fields need no
/// fixed offsets is better encoded by [`Postcard`](super::Postcard).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, bertha_core::Identity)]
#[chunnel(parameter)]
pub struct Bincode<const LIMIT: usize = { 64 << 20 }>;

#[cfg(feature = "bincode")]
mod codec {
    use super::Bincode;
    use crate::serialize::bounds::{Elements, Nested, NestedValue};
    use crate::serialize::{Anywhere, Codec};
    use bincode::config::{Configuration, Fixint, Limit, LittleEndian};
    use bincode::error::{DecodeError, EncodeError};
    use serde::{Serialize, de::DeserializeOwned};

    const fn configuration<const LIMIT: usize>() -> Configuration<LittleEndian, Fixint, Limit<LIMIT>> {
        bincode::config::standard().with_little_endian().with_fixed_int_encoding().with_limit::<LIMIT>()
    }

    impl<T, const LIMIT: usize> Codec<T> for Bincode<LIMIT>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
    {
        type EncodeError = EncodeError;
        type DecodeError = DecodeError;
        type Key = Anywhere;

        const NAME: &'static str = "bincode";
        const VERSION: u16 = 2;

        fn options(&self) -> String {
            format!("little endian, fixed integers, at most {LIMIT} bytes")
        }

        fn limit(&self) -> usize {
            LIMIT
        }

        #[inline]
        fn encode(&self, message: &T, into: &mut [u8]) -> Result<Option<usize>, EncodeError> {
            match bincode::serde::encode_into_slice(
                NestedValue::message(message),
                into,
                configuration::<LIMIT>(),
            ) {
                Ok(written) => Ok(Some(written)),
                Err(EncodeError::UnexpectedEnd) => Ok(None),
                Err(other) => Err(other),
            }
        }

        #[inline]
        fn decode(&self, bytes: &[u8]) -> Result<(T, usize), DecodeError> {
            let elements = Elements::of_bytes(bytes.len());
            bincode::serde::seed_decode_from_slice(
                Nested::message(&elements),
                bytes,
                configuration::<LIMIT>(),
            )
        }
    }
}
