//! The wire format of [`Noise`](super::Noise), without keys or state.
//!
//! ```text
//! initiation   1, and the first message of the handshake: 48 bytes with a shared key, 96 with static keys
//! response     2, and its second message: 48 bytes
//! refusal      3, and the reason: 0 if the initiation can't be read, 1 if the initiator's key is not trusted
//! transport    4, the message's number (7 bytes, little-endian), the tag (16 bytes), and the encrypted message
//! ```
//!
//! The handshake messages are those of the Noise specification (revision 34, section 5), with empty payloads.
//! A transport message is a message of section 3 with its tag in front, so that encryption in place needs
//! only headroom, and with its explicit nonce (section 11.4). Its associated data is empty. The number 0
//! belongs to an empty message with which the initiator confirms the handshake; it carries no message of the
//! layer above.

/// The bytes in front of an encrypted message.
pub const HEADER: usize = 8 + TAG;

/// The bytes of a tag.
pub const TAG: usize = 16;

/// The bytes of an initiation's handshake message with a shared key.
pub const SHARED_INITIATION: usize = 32 + TAG;

/// The bytes of an initiation's handshake message with static keys.
pub const STATIC_INITIATION: usize = 32 + 32 + TAG + TAG;

/// The bytes of a response's handshake message.
pub const RESPONSE: usize = 32 + TAG;

/// The number of the initiator's confirmation.
pub const CONFIRMATION: u64 = 0;

/// The number after the largest number of a message.
pub const NUMBERS: u64 = 1 << 56;

/// The first byte of a message.
mod kind {
    pub(super) const INITIATION: u8 = 1;
    pub(super) const RESPONSE: u8 = 2;
    pub(super) const REFUSAL: u8 = 3;
    pub(super) const TRANSPORT: u8 = 4;
}

/// A decoded message from below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrived<'a> {
    /// The first handshake message.
    Initiation(&'a [u8]),
    /// The second handshake message.
    Response(&'a [u8; RESPONSE]),
    /// The responder's refusal of an initiation. It is not authentic.
    Refusal(Refusal),
    /// A message that is not decrypted yet.
    Transport(Header),
}

/// The reason why a responder does not accept an initiation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The initiation was made with another key or prologue, or was altered.
    Unreadable,
    /// The initiator's static key is not trusted.
    Untrusted,
}

/// The header of an encrypted message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The message's number.
    pub number: u64,
    /// The authentication tag.
    pub tag: [u8; TAG],
}

impl Header {
    /// Encodes the header for the wire.
    #[inline]
    pub fn encode(self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..8].copy_from_slice(&(self.number << 8 | u64::from(kind::TRANSPORT)).to_le_bytes());
        bytes[8..].copy_from_slice(&self.tag);
        bytes
    }
}

/// Encodes an initiation for the wire.
pub fn initiation(message: &[u8]) -> Vec<u8> {
    [&[kind::INITIATION], message].concat()
}

/// Encodes a response for the wire.
pub fn response(message: &[u8; RESPONSE]) -> Vec<u8> {
    [&[kind::RESPONSE], &message[..]].concat()
}

/// Encodes a refusal for the wire.
pub fn refusal(reason: Refusal) -> [u8; 2] {
    [kind::REFUSAL, u8::from(reason == Refusal::Untrusted)]
}

/// Decodes a message from below; `None` if it is malformed.
#[inline]
pub fn decode(bytes: &[u8]) -> Option<Arrived<'_>> {
    let (kind, rest) = bytes.split_first()?;
    match *kind {
        kind::TRANSPORT => {
            let (number, rest) = bytes.split_first_chunk()?;
            let tag = *rest.first_chunk()?;
            Some(Arrived::Transport(Header { number: u64::from_le_bytes(*number) >> 8, tag }))
        }
        kind::INITIATION if [SHARED_INITIATION, STATIC_INITIATION].contains(&rest.len()) => {
            Some(Arrived::Initiation(rest))
        }
        kind::RESPONSE => rest.try_into().ok().map(Arrived::Response),
        kind::REFUSAL => match rest {
            [0] => Some(Arrived::Refusal(Refusal::Unreadable)),
            [1] => Some(Arrived::Refusal(Refusal::Untrusted)),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn written_messages_are_read(
            long in proptest::array::uniform32(0_u8..), tag: [u8; TAG], number in 0..NUMBERS, rest: Vec<u8>,
        ) {
            let short = [&long[..], &tag].concat();
            let response_message = short.first_chunk().unwrap();
            for message in [short.clone(), [&short[..], &short].concat()] {
                prop_assert!(decode(&initiation(&message)) == Some(Arrived::Initiation(&message)));
            }
            prop_assert!(decode(&response(response_message)) == Some(Arrived::Response(response_message)));
            for reason in [Refusal::Unreadable, Refusal::Untrusted] {
                prop_assert!(decode(&refusal(reason)) == Some(Arrived::Refusal(reason)));
            }
            let header = Header { number, tag };
            let message = [&header.encode()[..], &rest].concat();
            prop_assert_eq!(decode(&message), Some(Arrived::Transport(header)));
        }

        #[test]
        fn other_bytes_are_malformed(bytes: Vec<u8>) {
            match decode(&bytes) {
                Some(Arrived::Initiation(message)) => prop_assert_eq!(&initiation(message), &bytes),
                Some(Arrived::Response(message)) => prop_assert_eq!(&response(message), &bytes),
                Some(Arrived::Refusal(reason)) => prop_assert_eq!(&refusal(reason)[..], &bytes[..]),
                Some(Arrived::Transport(header)) => {
                    prop_assert!(header.number < NUMBERS);
                    prop_assert_eq!(&header.encode()[..], &bytes[..HEADER]);
                }
                None => {}
            }
        }
    }
}
