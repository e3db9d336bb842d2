//! The wire format of [`Seal`](super::Seal), without keys or state.
//!
//! ```text
//! hello      0, 1 if the sender does not know the receiver's salt, the sender's salt (16 bytes), and its proof (32 bytes)
//! sealed     1, the message's number (7 bytes, little-endian), the tag (16 bytes), and the encrypted message
//! ```
//!
//! The first eight bytes of a sealed message are its associated data. The nonce is four zero bytes and the number in eight,
//! little-endian.

/// The bytes in front of a sealed message.
pub const HEADER: usize = 8 + TAG;

/// The bytes of a tag.
pub const TAG: usize = 16;

/// The bytes of a salt.
pub const SALT: usize = 16;

/// The bytes of a proof.
pub const PROOF: usize = 32;

/// The bytes of a hello.
pub const HELLO_LEN: usize = 2 + SALT + PROOF;

/// One more than the largest number of a message.
pub const NUMBERS: u64 = 1 << 56;

const HELLO: u8 = 0;
const SEALED: u8 = 1;

/// A decoded message from below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrived {
    /// The salt of the sender.
    Hello(Hello),
    /// A message, not decrypted yet.
    Sealed(Sealed),
}

/// The message with which each end begins a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hello {
    /// The sender's contribution to the keys.
    pub salt: [u8; SALT],
    /// Whether the sender waits for a hello in return.
    pub asks: bool,
    /// The proof of the key and the transcript.
    pub proof: [u8; PROOF],
}

/// The header of a sealed message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sealed {
    /// The message's number.
    pub number: u64,
    /// The authentication tag.
    pub tag: [u8; TAG],
}

impl Hello {
    /// The bytes on the wire.
    pub fn encode(self) -> [u8; HELLO_LEN] {
        let mut bytes = [0; HELLO_LEN];
        (bytes[0], bytes[1]) = (HELLO, u8::from(self.asks));
        bytes[2..2 + SALT].copy_from_slice(&self.salt);
        bytes[2 + SALT..].copy_from_slice(&self.proof);
        bytes
    }
}

/// The associated data of the message with this number: the first bytes of its packet.
pub fn associated(number: u64) -> [u8; 8] {
    (number << 8 | u64::from(SEALED)).to_le_bytes()
}

/// Decodes a message from below; `None` if it is malformed.
pub fn decode(bytes: &[u8]) -> Option<Arrived> {
    match *bytes.first()? {
        HELLO => {
            let [_, asks, rest @ ..] =
                bytes.first_chunk::<HELLO_LEN>().filter(|_| bytes.len() == HELLO_LEN)?;
            let (salt, proof) = (*rest.first_chunk()?, *rest.last_chunk()?);
            (*asks <= 1).then_some(Arrived::Hello(Hello { salt, asks: *asks == 1, proof }))
        }
        SEALED => {
            let (associated, rest) = bytes.split_first_chunk()?;
            let tag = *rest.first_chunk()?;
            Some(Arrived::Sealed(Sealed { number: u64::from_le_bytes(*associated) >> 8, tag }))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            salt: [u8; SALT], proof: [u8; PROOF], asks: bool, number in 0..NUMBERS, tag: [u8; TAG], rest: Vec<u8>,
        ) {
            let hello = Hello { salt, asks, proof };
            prop_assert_eq!(decode(&hello.encode()), Some(Arrived::Hello(hello)));
            let sealed = [&associated(number)[..], &tag, &rest].concat();
            prop_assert_eq!(decode(&sealed), Some(Arrived::Sealed(Sealed { number, tag })));
        }

        #[test]
        fn anything_else_is_nothing(bytes: Vec<u8>) {
            match decode(&bytes) {
                Some(Arrived::Hello(hello)) => prop_assert_eq!(&hello.encode()[..], &bytes[..]),
                Some(Arrived::Sealed(sealed)) => {
                    prop_assert!(bytes.len() >= HEADER);
                    prop_assert_eq!(&associated(sealed.number)[..], &bytes[..8]);
                }
                None => {}
            }
        }
    }
}
