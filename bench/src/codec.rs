//! How a message becomes a datagram.

use crate::{Error, ErrorKind};
use bertha_kvstore::Message;
use bincode::config::{Configuration, Fixint, Limit, LittleEndian};

/// Writes messages into buffers and reads them back.
pub trait Codec: Copy + Send + Sync + 'static {
    /// What the format is called in a report.
    const NAME: &'static str;

    /// Writes the message at the start of `space` and returns its length in bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Codec`] when `space` is too small.
    fn encode(self, message: &Message, space: &mut [u8]) -> Result<usize, Error>;

    /// Reads the message in a datagram.
    ///
    /// # Errors
    /// [`ErrorKind::Codec`] when the datagram is not a message.
    fn decode(self, datagram: &[u8]) -> Result<Message, Error>;
}

/// bincode 2 with integers of fixed length, little endian.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bincode;

/// The most that a length prefix is believed: a datagram.
const DATAGRAM: usize = 65_536;

const CONFIGURATION: Configuration<LittleEndian, Fixint, Limit<DATAGRAM>> =
    bincode::config::standard().with_fixed_int_encoding().with_limit::<DATAGRAM>();

impl Codec for Bincode {
    const NAME: &'static str = "bincode";

    #[inline]
    fn encode(self, message: &Message, space: &mut [u8]) -> Result<usize, Error> {
        bincode::serde::encode_into_slice(message, space, CONFIGURATION)
            .map_err(Error::while_doing(ErrorKind::Codec, "encoding a message with bincode"))
    }

    #[inline]
    fn decode(self, datagram: &[u8]) -> Result<Message, Error> {
        bincode::serde::decode_from_slice(datagram, CONFIGURATION)
            .map(|(message, _)| message)
            .map_err(Error::while_doing(ErrorKind::Codec, "decoding a message with bincode"))
    }
}

/// postcard: integers of variable length.
#[derive(Clone, Copy, Debug, Default)]
pub struct Postcard;

impl Codec for Postcard {
    const NAME: &'static str = "postcard";

    #[inline]
    fn encode(self, message: &Message, space: &mut [u8]) -> Result<usize, Error> {
        postcard::to_slice(message, space)
            .map(|written| written.len())
            .map_err(Error::while_doing(ErrorKind::Codec, "encoding a message with postcard"))
    }

    #[inline]
    fn decode(self, datagram: &[u8]) -> Result<Message, Error> {
        postcard::from_bytes(datagram)
            .map_err(Error::while_doing(ErrorKind::Codec, "decoding a message with postcard"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn survives(codec: impl Codec, length: usize) {
        let message = Message::put(7, "key", vec![9; 5]);
        let mut space = [0; 64];
        assert_eq!(codec.encode(&message, &mut space).unwrap(), length);
        assert_eq!(codec.decode(&space[..length]).unwrap(), message);
        assert_eq!(codec.decode(&space[..length - 1]).unwrap_err().kind(), ErrorKind::Codec);
        assert_eq!(codec.encode(&message, &mut space[..length - 1]).unwrap_err().kind(), ErrorKind::Codec);
    }

    #[test]
    fn bincode_writes_fixed_lengths() {
        survives(Bincode, 8 + 3 + 8 + 4 + 8 + 5);
    }

    #[test]
    fn postcard_writes_short_lengths() {
        survives(Postcard, 1 + 3 + 1 + 1 + 1 + 5);
    }

    #[test]
    fn a_length_beyond_a_datagram_is_not_believed() {
        let mut hostile = [0xff; 40];
        hostile[7] = 0x7f;
        assert_eq!(Bincode.decode(&hostile).unwrap_err().kind(), ErrorKind::Codec);
    }
}
