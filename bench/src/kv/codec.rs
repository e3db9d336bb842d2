//! The encoding of a message in a datagram, written and read by hand: bincode 2 with integers of fixed
//! length, little endian.

use crate::{Error, ErrorKind};
use bertha_kvstore::Message;
use bincode::config::{Configuration, Fixint, Limit, LittleEndian};

/// Largest length prefix that is believed: the length of a datagram.
const DATAGRAM: usize = 65_536;

const CONFIGURATION: Configuration<LittleEndian, Fixint, Limit<DATAGRAM>> =
    bincode::config::standard().with_fixed_int_encoding().with_limit::<DATAGRAM>();

/// Writes the message at the start of `space` and returns its length in bytes.
///
/// # Errors
/// [`ErrorKind::Codec`] when `space` is too small.
#[inline]
pub(crate) fn encode(message: &Message, space: &mut [u8]) -> Result<usize, Error> {
    bincode::serde::encode_into_slice(message, space, CONFIGURATION)
        .map_err(Error::while_doing(ErrorKind::Codec, "encoding a message"))
}

/// Reads the message in a datagram.
///
/// # Errors
/// [`ErrorKind::Codec`] when the datagram is not a message.
#[inline]
pub(crate) fn decode(datagram: &[u8]) -> Result<Message, Error> {
    bincode::serde::decode_from_slice(datagram, CONFIGURATION)
        .map(|(message, _)| message)
        .map_err(Error::while_doing(ErrorKind::Codec, "decoding a message"))
}

/// Number of bytes in a checksum.
const CHECK: usize = 4;

/// Writes the message as [`encode`] does, with a CRC-32 of it in front.
///
/// # Errors
/// [`ErrorKind::Codec`] when `space` is too small.
#[inline]
pub(crate) fn encode_checked(message: &Message, space: &mut [u8]) -> Result<usize, Error> {
    let Some((check, space)) = space.split_first_chunk_mut::<CHECK>() else {
        return Err(Error::new(ErrorKind::Codec, "there is no room for a checksum"));
    };
    let length = encode(message, space)?;
    *check = crc32fast::hash(&space[..length]).to_le_bytes();
    Ok(CHECK + length)
}

/// Reads the message as [`decode`] does, with its CRC-32 in front.
///
/// # Errors
/// [`ErrorKind::Codec`] when the datagram is not a message, or is damaged.
#[inline]
pub(crate) fn decode_checked(datagram: &[u8]) -> Result<Message, Error> {
    match datagram.split_first_chunk::<CHECK>() {
        Some((check, message)) if crc32fast::hash(message).to_le_bytes() == *check => decode(message),
        _ => Err(Error::new(ErrorKind::Codec, "a damaged message")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_survives_and_a_cut_one_is_an_error() {
        let (message, length) = (Message::put(7, "key", vec![9; 5]), 8 + 3 + 8 + 4 + 8 + 5);
        let mut space = [0; 64];
        assert_eq!(encode(&message, &mut space).unwrap(), length);
        assert_eq!(decode(&space[..length]).unwrap(), message);
        assert_eq!(decode(&space[..length - 1]).unwrap_err().kind(), ErrorKind::Codec);
        assert_eq!(encode(&message, &mut space[..length - 1]).unwrap_err().kind(), ErrorKind::Codec);
        let mut hostile = [0xff; 40];
        hostile[7] = 0x7f;
        assert_eq!(decode(&hostile).unwrap_err().kind(), ErrorKind::Codec);
    }

    #[test]
    fn a_damaged_message_is_an_error() {
        let message = Message::put(7, "key", vec![9; 5]);
        let mut space = [0; 64];
        let length = encode_checked(&message, &mut space).unwrap();
        assert_eq!(decode_checked(&space[..length]).unwrap(), message);
        for bit in 0..8 * length {
            let mut damaged = space;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode_checked(&damaged[..length]).unwrap_err().kind(), ErrorKind::Codec, "bit {bit}");
        }
        assert_eq!(decode_checked(&space[..3]).unwrap_err().kind(), ErrorKind::Codec);
    }
}
