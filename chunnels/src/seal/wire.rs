//! What [`Seal`](super::Seal) sends, and nothing else: no keys, no state.
//!
//! ```text
//! greeting   0, 1 if the sender does not know the receiver's salt, the sender's salt (16 bytes), and its proof (32 bytes)
//! sealed     1, the message's number (7 bytes, little-endian), the tag (16 bytes), and the encrypted message
//! ```
//!
//! The first eight bytes of a sealed message are its associated data. The nonce is four zero bytes and the number in eight,
//! little-endian.

/// How many bytes stand in front of a sealed message.
pub const HEADER: usize = 8 + TAG;

/// The bytes of a tag.
pub const TAG: usize = 16;

/// The bytes of a salt.
pub const SALT: usize = 16;

/// The bytes of a proof.
pub const PROOF: usize = 32;

/// The bytes of a greeting.
pub const GREETING: usize = 2 + SALT + PROOF;

/// One more than the largest number of a message.
pub const NUMBERS: u64 = 1 << 56;

const GREETS: u8 = 0;
const SEALED: u8 = 1;

/// What arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrived {
    /// The sender tells its salt.
    Greeting(Greeting),
    /// A message, not opened yet.
    Sealed(Sealed),
}

/// The beginning of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Greeting {
    /// What the sender adds to the keys.
    pub salt: [u8; SALT],
    /// Whether it waits for a greeting in return.
    pub asks: bool,
    /// What shows that it has the key and the transcript.
    pub proof: [u8; PROOF],
}

/// What stands in front of a sealed message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sealed {
    /// The message's number.
    pub number: u64,
    /// What proves that it is the peer's.
    pub tag: [u8; TAG],
}

impl Greeting {
    /// As it is sent.
    pub fn write(self) -> [u8; GREETING] {
        let mut bytes = [0; GREETING];
        (bytes[0], bytes[1]) = (GREETS, u8::from(self.asks));
        bytes[2..2 + SALT].copy_from_slice(&self.salt);
        bytes[2 + SALT..].copy_from_slice(&self.proof);
        bytes
    }
}

/// The associated data of the message with this number, which are the first bytes of what is sent.
pub fn associated(number: u64) -> [u8; 8] {
    (number << 8 | u64::from(SEALED)).to_le_bytes()
}

/// What `bytes` are, or `None` if they are nothing that is sent.
pub fn read(bytes: &[u8]) -> Option<Arrived> {
    match *bytes.first()? {
        GREETS => {
            let [_, asks, rest @ ..] = bytes.first_chunk::<GREETING>().filter(|_| bytes.len() == GREETING)?;
            let (salt, proof) = (*rest.first_chunk()?, *rest.last_chunk()?);
            (*asks <= 1).then_some(Arrived::Greeting(Greeting { salt, asks: *asks == 1, proof }))
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
            let greeting = Greeting { salt, asks, proof };
            prop_assert_eq!(read(&greeting.write()), Some(Arrived::Greeting(greeting)));
            let sealed = [&associated(number)[..], &tag, &rest].concat();
            prop_assert_eq!(read(&sealed), Some(Arrived::Sealed(Sealed { number, tag })));
        }

        #[test]
        fn anything_else_is_nothing(bytes: Vec<u8>) {
            match read(&bytes) {
                Some(Arrived::Greeting(greeting)) => prop_assert_eq!(&greeting.write()[..], &bytes[..]),
                Some(Arrived::Sealed(sealed)) => {
                    prop_assert!(bytes.len() >= HEADER);
                    prop_assert_eq!(&associated(sealed.number)[..], &bytes[..8]);
                }
                None => {}
            }
        }
    }
}
