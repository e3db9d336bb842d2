//! The check of a packet for damage.

/// The end-to-end check of packets, the same at both ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// A CRC-32 stands in front of each packet.
    Crc,
    /// None: the layers below drop damaged packets.
    Below,
}

/// The bytes of a CRC.
pub(super) const CRC: usize = 4;

impl Check {
    /// Returns the bytes that it takes of each packet.
    pub(in crate::reliable) const fn len(self) -> usize {
        match self {
            Self::Crc => CRC,
            Self::Below => 0,
        }
    }

    /// Writes the check of a packet that is complete otherwise.
    pub(super) fn put(self, packet: &mut [u8]) {
        if self == Self::Crc
            && let Some((check, rest)) = packet.split_first_chunk_mut::<CRC>()
        {
            *check = crc32fast::hash(rest).to_le_bytes();
        }
    }

    /// Returns true if a packet is undamaged, as far as the check shows.
    pub(super) fn holds(self, packet: &[u8]) -> bool {
        match (self, packet.split_first_chunk::<CRC>()) {
            (Self::Crc, Some((check, rest))) => crc32fast::hash(rest) == u32::from_le_bytes(*check),
            (Self::Crc, None) => false,
            (Self::Below, _) => true,
        }
    }
}
