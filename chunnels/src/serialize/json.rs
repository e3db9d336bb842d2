//! JSON as a codec.

/// JSON (RFC 8259), which every language has and people can read. The feature `json`, off by default, implements the codec.
///
/// A struct is an object of the names of its fields, as a Python dictionary is: `{"id": 1}`. See
/// [codecs of other languages](crate::serialize#codecs-that-other-languages-have).
///
/// JSON has neither bytes nor floats without a number: bytes are an array of numbers, and NaN and the infinities are written as `null`, which
/// is no float when it is read. Keys of maps are strings, also those that are numbers in Rust. Spaces around a message belong to it. Values
/// in fields that the type does not have may be nested deeper than 128 levels: they are skipped without recursion.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, bertha_core::Identity)]
#[chunnel(parameter)]
pub struct Json;

#[cfg(feature = "json")]
mod codec {
    use super::Json;
    use crate::serialize::bounds::NestedValue;
    use crate::serialize::described::{FormatError, Whole, write_into};
    use crate::serialize::{Anywhere, Codec};
    use serde::Serialize;
    use serde::de::DeserializeOwned;
    use serde_json::Deserializer;

    impl<T: Serialize + DeserializeOwned + Send + 'static> Codec<T> for Json {
        type EncodeError = FormatError;
        type DecodeError = FormatError;
        type Key = Anywhere;

        const NAME: &'static str = "json";
        const DESCRIBES_ITSELF: bool = true;

        #[inline]
        fn encode(&self, message: &T, into: &mut [u8]) -> Result<Option<usize>, FormatError> {
            match write_into(into, |rest| serde_json::to_writer(rest, &NestedValue::message(message))) {
                Ok(written) => Ok(Some(written)),
                Err(error) if error.is_io() => Ok(None),
                Err(reason) => Err(FormatError::new(&reason)),
            }
        }

        #[inline]
        fn decode(&self, bytes: &[u8]) -> Result<(T, usize), FormatError> {
            let mut deserializer = Deserializer::from_slice(bytes);
            // Our own bound is the same in all formats.
            deserializer.disable_recursion_limit();
            let mut messages = deserializer.into_iter();
            let Whole(message) = match messages.next() {
                Some(decoded) => decoded.map_err(|error| FormatError::new(&error))?,
                None => return Err(FormatError::new(&"the message is empty")),
            };
            let end = messages.byte_offset();
            let behind = bytes.get(end..).unwrap_or_default();
            let spaces = behind.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
            Ok((message, end + spaces.count()))
        }
    }
}
