//! The messages between the boxes, which travel beside the bundle.
//!
//! Both begin with the version, a kind and the exponent of the size of epochs. Numbers are big-endian.

use crate::epoch::EpochSize;
use crate::hash::mix;
use std::fmt;

/// Number of bytes of the longest message.
pub const MESSAGE: usize = 24;

/// The version of the format.
const VERSION: u8 = 1;

const ACKNOWLEDGEMENT: u8 = 0;
const RESIZE: u8 = 1;

/// A packet that is no message of a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// The message has this number of bytes, which no message of its kind has.
    Length(usize),
    /// The message is of this version, or of this kind, which this box does not know.
    Version(u8, u8),
    /// The exponent of the size of epochs is too large.
    Exponent(u8),
    /// The message is from a box with another key.
    Key,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(len) => write!(f, "no message of a box has {len} bytes"),
            Self::Version(version, kind) => write!(f, "no box knows version {version} and kind {kind}"),
            Self::Exponent(exponent) => write!(f, "the size of epochs has the exponent {exponent}, above 16"),
            Self::Key => f.write_str("the other box has another key"),
        }
    }
}

impl std::error::Error for Malformed {}

/// The receivebox's acknowledgement of a boundary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Acknowledgement {
    /// The receivebox's size of epochs.
    pub(crate) size: EpochSize,
    /// A number that differs for each start of a receivebox, whose counts begin anew.
    pub(crate) instance: u32,
    pub(crate) hash: u64,
    /// Number of bytes that have arrived so far, the boundary included.
    pub(crate) received: u64,
}

/// The sendbox's size of epochs, for the receivebox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Resize {
    pub(crate) size: EpochSize,
}

impl Acknowledgement {
    pub(crate) fn encode(&self) -> [u8; MESSAGE] {
        let mut bytes = [0; MESSAGE];
        bytes[..4].copy_from_slice(&[VERSION, ACKNOWLEDGEMENT, self.size.exponent(), 0]);
        bytes[4..8].copy_from_slice(&self.instance.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.hash.to_be_bytes());
        bytes[16..].copy_from_slice(&self.received.to_be_bytes());
        bytes
    }

    pub(crate) fn decode(message: &[u8]) -> Result<Self, Malformed> {
        let bytes: &[u8; MESSAGE] = message.try_into().map_err(|_| Malformed::Length(message.len()))?;
        let size = size_of(bytes, ACKNOWLEDGEMENT)?;
        let [.., a, b, c, d] = *bytes.first_chunk::<8>().ok_or(Malformed::Length(message.len()))?;
        let instance = u32::from_be_bytes([a, b, c, d]);
        let [.., hash, received] = *bytes.as_chunks::<8>().0 else {
            return Err(Malformed::Length(message.len()));
        };
        let [hash, received] = [hash, received].map(u64::from_be_bytes);
        Ok(Self { size, instance, hash, received })
    }
}

impl Resize {
    /// Number of bytes of the message.
    const LEN: usize = 12;

    /// Returns the message, with a token that no sender guesses who does not see the path. It is no cryptography: the key
    /// can be computed from it.
    pub(crate) fn encode(&self, key: u64) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..4].copy_from_slice(&[VERSION, RESIZE, self.size.exponent(), 0]);
        bytes[4..].copy_from_slice(&self.token(key).to_be_bytes());
        bytes
    }

    pub(crate) fn decode(message: &[u8], key: u64) -> Result<Self, Malformed> {
        let bytes: &[u8; Self::LEN] = message.try_into().map_err(|_| Malformed::Length(message.len()))?;
        let resize = Self { size: size_of(bytes, RESIZE)? };
        let token = bytes.last_chunk().map(|token| u64::from_be_bytes(*token));
        if token == Some(resize.token(key)) { Ok(resize) } else { Err(Malformed::Key) }
    }

    fn token(&self, key: u64) -> u64 {
        mix(mix(key, u64::from(RESIZE)), u64::from(self.size.exponent()))
    }
}

fn size_of<const LEN: usize>(bytes: &[u8; LEN], expected: u8) -> Result<EpochSize, Malformed> {
    let [version, kind, exponent] = *bytes.first_chunk().ok_or(Malformed::Length(LEN))?;
    if (version, kind) != (VERSION, expected) {
        return Err(Malformed::Version(version, kind));
    }
    EpochSize::from_exponent(exponent).ok_or(Malformed::Exponent(exponent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn messages_are_read_as_they_were_written(
            exponent in 0_u8..17, instance: u32, hash: u64, received: u64, key: u64,
        ) {
            let size = EpochSize::from_exponent(exponent).unwrap();
            let acknowledgement = Acknowledgement { size, instance, hash, received };
            prop_assert_eq!(Acknowledgement::decode(&acknowledgement.encode()), Ok(acknowledgement));
            let resize = Resize { size };
            prop_assert_eq!(Resize::decode(&resize.encode(key), key), Ok(resize));
            prop_assert_eq!(Resize::decode(&resize.encode(key), key ^ 1), Err(Malformed::Key));
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..30)) {
            let _ = (Acknowledgement::decode(&bytes), Resize::decode(&bytes, 0));
        }
    }

    #[test]
    fn what_is_no_message_is_named() {
        let size = EpochSize::default();
        let mut bytes = Acknowledgement { size, instance: 0, hash: 0, received: 0 }.encode();
        assert_eq!(Acknowledgement::decode(&bytes[..23]), Err(Malformed::Length(23)));
        assert_eq!(Resize::decode(&bytes, 0), Err(Malformed::Length(24)));
        bytes[2] = 17;
        assert_eq!(Acknowledgement::decode(&bytes), Err(Malformed::Exponent(17)));
        bytes[1] = RESIZE;
        assert_eq!(Acknowledgement::decode(&bytes), Err(Malformed::Version(1, RESIZE)));
        bytes[0] = 2;
        assert_eq!(Acknowledgement::decode(&bytes), Err(Malformed::Version(2, RESIZE)));
    }
}
