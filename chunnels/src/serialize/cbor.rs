//! CBOR as a codec.

/// CBOR (RFC 8949), which libraries of nearly every language have. The feature `cbor`, off by default, implements the codec.
///
/// A struct is a map of the names of its fields, as a Python dictionary is: `{"id": 1}`. See
/// [codecs of other languages](crate::serialize#codecs-that-other-languages-have).
///
/// Integers, and floats of any width, take the shortest form that has their value. An integer is no float: Python's `1` is refused where
/// the Rust type has an `f64`, and `1.0` is not. Tags in front of values are passed over. A string with an indefinite length is accepted,
/// and so are such sequences and maps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, bertha_core::Identity)]
#[chunnel(parameter)]
pub struct Cbor;

#[cfg(feature = "cbor")]
mod codec {
    use super::Cbor;
    use crate::serialize::bounds::NestedValue;
    use crate::serialize::described::{FormatError, Whole, write_into};
    use crate::serialize::{Anywhere, Codec};
    use ciborium::{de, ser};
    use serde::Serialize;
    use serde::de::DeserializeOwned;
    use std::io;

    /// Up to this many bytes of a message, names and strings have a short place on the stack. It is cleared for each message.
    const SHORT: usize = 256;
    /// The place in longer messages, which bounds the names of fields.
    const LONG: usize = 4096;

    impl<T: Serialize + DeserializeOwned + Send + 'static> Codec<T> for Cbor {
        type EncodeError = FormatError;
        type DecodeError = FormatError;
        type Key = Anywhere;

        const NAME: &'static str = "cbor";
        const DESCRIBES_ITSELF: bool = true;

        #[inline]
        fn encode(&self, message: &T, into: &mut [u8]) -> Result<Option<usize>, FormatError> {
            match write_into(into, |rest| ciborium::into_writer(&NestedValue::message(message), rest)) {
                Ok(written) => Ok(Some(written)),
                Err(ser::Error::Io(_)) => Ok(None),
                Err(ser::Error::Value(reason)) => Err(FormatError::new(&reason)),
            }
        }

        #[inline]
        fn decode(&self, bytes: &[u8]) -> Result<(T, usize), FormatError> {
            let mut rest = bytes;
            let decoded = if bytes.len() <= SHORT {
                de::from_reader_with_buffer(&mut rest, &mut [0; SHORT])
            } else {
                de::from_reader_with_buffer(&mut rest, &mut [0; LONG])
            };
            let Whole(message) = decoded.map_err(undecodable)?;
            Ok((message, bytes.len() - rest.len()))
        }
    }

    #[cold]
    fn undecodable(error: de::Error<io::Error>) -> FormatError {
        match error {
            de::Error::Io(_) => FormatError::new(&"the message ends too early"),
            de::Error::Syntax(at) => FormatError::new(&format_args!("there is no CBOR at byte {at}")),
            de::Error::Semantic(_, reason) => FormatError::new(&reason),
            de::Error::RecursionLimitExceeded => FormatError::new(&"its values are nested too deep"),
        }
    }
}
