//! A codec whose encoding begins with a checksum.

use bertha_chunnels::serialize::{Anywhere, Codec};
use std::error::Error;
use std::fmt;

/// Length of a checksum, in bytes.
const LENGTH: usize = 4;

/// The codec `C` with the checksum of [`Checksum`](bertha_chunnels::Checksum) in front of each encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checked<C> {
    codec: C,
}

impl<C> Checked<C> {
    /// Puts a checksum in front of the encoding of `codec`.
    pub fn new(codec: C) -> Self {
        Self { codec }
    }
}

/// Returns the checksum of some bytes: CRC-32 (IEEE 802.3), little-endian.
fn checksum(of: &[u8]) -> [u8; LENGTH] {
    crc32fast::hash(of).to_le_bytes()
}

impl<T, C: Codec<T>> Codec<T> for Checked<C> {
    type EncodeError = C::EncodeError;
    type DecodeError = Refused<C::DecodeError>;
    type Key = Anywhere;

    const NAME: &'static str = C::NAME;
    const VERSION: u16 = C::VERSION;

    fn options(&self) -> String {
        self.codec.options()
    }

    fn limit(&self) -> usize {
        self.codec.limit().saturating_add(LENGTH)
    }

    #[inline]
    fn encode(&self, message: &T, into: &mut [u8]) -> Result<Option<usize>, C::EncodeError> {
        let Some((front, rest)) = into.split_first_chunk_mut() else { return Ok(None) };
        let Some(written) = self.codec.encode(message, rest)? else { return Ok(None) };
        let Some(encoded) = rest.get(..written) else { return Ok(None) };
        *front = checksum(encoded);
        Ok(Some(LENGTH + written))
    }

    #[inline]
    fn decode(&self, bytes: &[u8]) -> Result<(T, usize), Self::DecodeError> {
        let (front, encoded) = bytes.split_first_chunk::<LENGTH>().ok_or(Refused::Damaged)?;
        if checksum(encoded) != *front {
            return Err(Refused::Damaged);
        }
        let (message, used) = self.codec.decode(encoded).map_err(Refused::Codec)?;
        Ok((message, LENGTH + used))
    }
}

/// The reason why received bytes are no message.
#[derive(Debug)]
pub enum Refused<E> {
    /// The bytes are damaged.
    Damaged,
    /// The bytes are undamaged, but the codec knows no such message.
    Codec(E),
}

impl<E: fmt::Display> fmt::Display for Refused<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged => f.write_str("the checksum is wrong or missing"),
            Self::Codec(error) => error.fmt(f),
        }
    }
}

impl<E: Error> Error for Refused<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Damaged => None,
            Self::Codec(error) => error.source(),
        }
    }
}
