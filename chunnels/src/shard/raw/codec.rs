//! A codec with the key at a known offset.

use crate::serialize::{At, Bincode, Codec};
use crate::shard::Keyed;
use bertha_core::Identity;
use std::error::Error;
use std::fmt;

/// The codec `C` for messages whose key it writes at offset `OFFSET`, as [`At`] describes.
///
/// Each encoded message is checked; a message with its key elsewhere is not sent. The format on the wire is
/// the format of `C`, but both ends need the same `KeyAt`.
///
/// The default of `C` is [`Bincode`], with the feature `bincode`, since Bincode writes integers and lengths
/// in a fixed number of bytes. The offset is 8 for a string or a vector of bytes that is the first field of
/// its struct.
///
/// [`Postcard`](crate::Postcard) writes integers and lengths in a variable number of bytes, of which a length
/// up to 127 takes one. So the offset is 1 for a string or a vector of at most 127 bytes that is the first
/// field of its struct; a message with a longer key is not sent:
///
/// ```
/// use bertha_chunnels::shard::KeyAt;
/// use bertha_chunnels::{Keyed, Postcard, Serialize};
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Request {
///     key: String,
///     id: u64,
/// }
///
/// impl Keyed for Request {
///     fn key(&self) -> &[u8] { self.key.as_bytes() }
/// }
///
/// let serialize = Serialize::<Request, KeyAt<1, Postcard>>::new();
/// # let _ = serialize;
/// ```
///
/// An array of bytes has a fixed place in Postcard, too, since Postcard writes its elements alone. So a
/// message with a key of `N` bytes can begin with a field `[u8; 8]` that is the length, and the key stands at
/// offset 8.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Identity)]
#[chunnel(parameter)]
pub struct KeyAt<const OFFSET: usize, C = Bincode>(pub C);

impl<T: Keyed, C: Codec<T>, const OFFSET: usize> Codec<T> for KeyAt<OFFSET, C> {
    type EncodeError = Misplaced<C::EncodeError>;
    type DecodeError = C::DecodeError;
    type Key = At<OFFSET>;

    const NAME: &'static str = C::NAME;
    const VERSION: u16 = C::VERSION;
    const DESCRIBES_ITSELF: bool = C::DESCRIBES_ITSELF;

    fn options(&self) -> String {
        self.0.options()
    }

    fn limit(&self) -> usize {
        self.0.limit()
    }

    #[inline]
    fn encode(&self, message: &T, into: &mut [u8]) -> Result<Option<usize>, Self::EncodeError> {
        let Some(written) = self.0.encode(message, into).map_err(Misplaced::Codec)? else {
            return Ok(None);
        };
        match into.get(..written).and_then(At::<OFFSET>::key) {
            Some(key) if key == message.key() => Ok(Some(written)),
            _ => Err(Misplaced::Key { offset: OFFSET }),
        }
    }

    #[inline]
    fn decode(&self, bytes: &[u8]) -> Result<(T, usize), C::DecodeError> {
        self.0.decode(bytes)
    }
}

/// The reason why [`KeyAt`] has no encoding for a message.
#[derive(Debug)]
pub enum Misplaced<E> {
    /// The codec has no encoding for the message.
    Codec(E),
    /// The codec does not write the message's key at the offset.
    Key {
        /// The expected offset.
        offset: usize,
    },
}

impl<E: fmt::Display> fmt::Display for Misplaced<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Codec(error) => error.fmt(f),
            Self::Key { offset } => {
                write!(f, "the key of this message does not begin {offset} bytes into its encoding")
            }
        }
    }
}

impl<E: Error + 'static> Error for Misplaced<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Codec(error) => error.source(),
            Self::Key { .. } => None,
        }
    }
}
