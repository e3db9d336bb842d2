//! The Chunnel itself.

use crate::ChecksumConnection;
use bertha_core::{Base, Buf, Capability, Carries, Chunnel, ConnectContext, Error, Identity};
use crc32fast::Hasher;
use serde::{Deserialize, Serialize};

/// Puts a CRC-32 in front of each message, and drops messages on arrival whose checksum is wrong.
///
/// The checksum is the checksum of Ethernet and zip (polynomial 0x04C11DB7, reflected), little endian. It
/// finds damage, not forgery: an attacker that changes a message can change its checksum too.
///
/// The Chunnel is all configuration, and so its own capability: two ends with different seeds are refused when they
/// connect.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, Identity, Capability)]
#[chunnel(capability = Clone::clone, guarantees(IntegrityChecked))]
#[capability(exact)]
pub struct Checksum {
    seed: u32,
}

impl Checksum {
    /// Number of bytes of the checksum in front of a message.
    pub const LENGTH: usize = 4;

    /// Makes a Chunnel with the seed 0.
    pub const fn new() -> Self {
        Self { seed: 0 }
    }

    /// Makes a Chunnel that begins each checksum with `seed`, so stray messages of another application count
    /// as damaged.
    pub const fn seeded(seed: u32) -> Self {
        Self { seed }
    }

    /// Returns the checksum of `message`, as it stands in front of the message.
    #[inline]
    pub fn of(self, message: &[u8]) -> [u8; Self::LENGTH] {
        let mut hasher = Hasher::new_with_initial(self.seed);
        hasher.update(message);
        hasher.finalize().to_le_bytes()
    }

    /// Returns the message behind its checksum, or `None` if the message is damaged, or too short for a
    /// checksum.
    #[inline]
    pub fn verified(self, received: &[u8]) -> Option<&[u8]> {
        let (checksum, message) = received.split_first_chunk()?;
        (self.of(message) == *checksum).then_some(message)
    }
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Checksum {
    type Connection = ChecksumConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        _: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        inner.base().reserve(Self::LENGTH);
        Ok(ChecksumConnection::new(inner, *self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_checksum_is_the_one_that_everybody_uses() {
        assert_eq!(Checksum::new().of(b"123456789"), 0xcbf4_3926_u32.to_le_bytes());
    }

    #[test]
    fn what_is_too_short_has_no_checksum() {
        let empty = Checksum::new().of(b"");
        assert_eq!(Checksum::new().verified(&empty), Some(&b""[..]));
        for length in 0..Checksum::LENGTH {
            assert_eq!(Checksum::new().verified(&empty[..length]), None);
        }
    }

    proptest! {
        #[test]
        fn one_wrong_bit_is_found(seed: u32, message in prop::collection::vec(any::<u8>(), 0..200), bit: prop::sample::Index) {
            let checksum = Checksum::seeded(seed);
            let mut sent = [&checksum.of(&message)[..], &message].concat();
            prop_assert_eq!(checksum.verified(&sent), Some(&message[..]));
            let bit = bit.index(8 * sent.len());
            sent[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(checksum.verified(&sent), None);
        }

        #[test]
        fn another_seed_is_another_checksum(seed: u32, message in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_ne!(Checksum::seeded(seed).of(&message), Checksum::seeded(!seed).of(&message));
        }
    }
}
