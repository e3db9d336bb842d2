//! The encoding of a message in a datagram, written and read by hand, in the formats of the codecs of `Serialize`.

use crate::{Error, ErrorKind};
use bertha_kvstore::Message;
use bincode::config::{Configuration, Fixint, Limit, LittleEndian};

/// A format of messages.
pub(crate) trait Format: 'static {
    /// Writes the message at the start of `space` and returns its length in bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Codec`] when `space` is too small.
    fn encode(message: &Message, space: &mut [u8]) -> Result<usize, Error>;

    /// Reads the message in a datagram.
    ///
    /// # Errors
    /// [`ErrorKind::Codec`] when the datagram is not a message.
    fn decode(datagram: &[u8]) -> Result<Message, Error>;
}

/// Postcard, the format of the store.
#[derive(Debug)]
pub(crate) enum Postcard {}

impl Format for Postcard {
    #[inline]
    fn encode(message: &Message, space: &mut [u8]) -> Result<usize, Error> {
        postcard::to_slice(message, space)
            .map(|written| written.len())
            .map_err(Error::while_doing(ErrorKind::Codec, "encoding a message"))
    }

    #[inline]
    fn decode(datagram: &[u8]) -> Result<Message, Error> {
        postcard::from_bytes(datagram).map_err(Error::while_doing(ErrorKind::Codec, "decoding a message"))
    }
}

/// bincode 2 with integers of fixed length, little endian.
#[derive(Debug)]
pub(crate) enum Bincode {}

/// Largest length prefix that is believed: the length of a datagram.
const DATAGRAM: usize = 65_536;

const CONFIGURATION: Configuration<LittleEndian, Fixint, Limit<DATAGRAM>> =
    bincode::config::standard().with_fixed_int_encoding().with_limit::<DATAGRAM>();

impl Format for Bincode {
    #[inline]
    fn encode(message: &Message, space: &mut [u8]) -> Result<usize, Error> {
        bincode::serde::encode_into_slice(message, space, CONFIGURATION)
            .map_err(Error::while_doing(ErrorKind::Codec, "encoding a message"))
    }

    #[inline]
    fn decode(datagram: &[u8]) -> Result<Message, Error> {
        bincode::serde::decode_from_slice(datagram, CONFIGURATION)
            .map(|(message, _)| message)
            .map_err(Error::while_doing(ErrorKind::Codec, "decoding a message"))
    }
}

/// Number of bytes in a checksum.
const CHECK: usize = 4;

/// Writes the message in the format `F`, with a CRC-32 of it in front, and returns the length of both in bytes.
///
/// # Errors
/// [`ErrorKind::Codec`] when `space` is too small.
#[inline]
pub(crate) fn encode_checked<F: Format>(message: &Message, space: &mut [u8]) -> Result<usize, Error> {
    let Some((check, space)) = space.split_first_chunk_mut::<CHECK>() else {
        return Err(Error::new(ErrorKind::Codec, "there is no room for a checksum"));
    };
    let length = F::encode(message, space)?;
    *check = crc32fast::hash(&space[..length]).to_le_bytes();
    Ok(CHECK + length)
}

/// Reads the message in a datagram in the format `F`, with its CRC-32 in front.
///
/// # Errors
/// [`ErrorKind::Codec`] when the datagram is not a message, or is damaged.
#[inline]
pub(crate) fn decode_checked<F: Format>(datagram: &[u8]) -> Result<Message, Error> {
    match datagram.split_first_chunk::<CHECK>() {
        Some((check, message)) if crc32fast::hash(message).to_le_bytes() == *check => F::decode(message),
        _ => Err(Error::new(ErrorKind::Codec, "a damaged message")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn survives<F: Format>(length: usize) {
        let message = Message::put(7, "key", vec![9; 5]);
        let mut space = [0; 64];
        assert_eq!(F::encode(&message, &mut space).unwrap(), length);
        assert_eq!(F::decode(&space[..length]).unwrap(), message);
        assert_eq!(F::decode(&space[..length - 1]).unwrap_err().kind(), ErrorKind::Codec);
        assert_eq!(F::encode(&message, &mut space[..length - 1]).unwrap_err().kind(), ErrorKind::Codec);
        let mut hostile = [0xff; 40];
        hostile[7] = 0x7f;
        assert_eq!(F::decode(&hostile).unwrap_err().kind(), ErrorKind::Codec);
    }

    #[test]
    fn a_message_survives_and_a_cut_one_is_an_error() {
        survives::<Bincode>(8 + 3 + 8 + 4 + 8 + 5);
        survives::<Postcard>(1 + 3 + 1 + 1 + 1 + 5);
    }

    fn sees_damage<F: Format>() {
        let message = Message::put(7, "key", vec![9; 5]);
        let mut space = [0; 64];
        let length = encode_checked::<F>(&message, &mut space).unwrap();
        assert_eq!(decode_checked::<F>(&space[..length]).unwrap(), message);
        for bit in 0..8 * length {
            let mut damaged = space;
            damaged[bit / 8] ^= 1 << (bit % 8);
            let refused = decode_checked::<F>(&damaged[..length]).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Codec, "bit {bit}");
        }
        assert_eq!(decode_checked::<F>(&space[..3]).unwrap_err().kind(), ErrorKind::Codec);
    }

    #[test]
    fn a_damaged_message_is_an_error() {
        sees_damage::<Bincode>();
        sees_damage::<Postcard>();
    }
}
