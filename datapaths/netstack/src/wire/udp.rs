//! UDP headers (RFC 768).

use super::Rejected;
use super::checksum::Sum;

/// Length of a header.
pub(crate) const HEADER: usize = 8;

/// A UDP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UdpHeader {
    pub(crate) source: u16,
    pub(crate) destination: u16,
    /// Length of header and payload.
    pub(crate) len: usize,
}

impl UdpHeader {
    /// Parses the header at the front of `bytes`, an IP packet's payload with the whole datagram. The
    /// checksum is verified if `pseudo` has its part from the IP header; it may be absent if `optional`.
    #[inline]
    pub(crate) fn parse(bytes: &[u8], pseudo: Option<Sum>, optional: bool) -> Result<Self, Rejected> {
        let Some(&[s0, s1, d0, d1, l0, l1, c0, c1]) = bytes.first_chunk() else {
            return Err(Rejected::Malformed);
        };
        let len = u16::from_be_bytes([l0, l1]);
        let Some(datagram) = bytes.get(..len.into()).filter(|datagram| datagram.len() >= HEADER) else {
            return Err(Rejected::Malformed);
        };
        let valid = match (pseudo, [c0, c1]) {
            (None, _) => true,
            (Some(_), [0, 0]) => optional,
            (Some(pseudo), _) => pseudo.and_number(len).and(Sum::of(datagram)).is_valid(),
        };
        if !valid {
            return Err(Rejected::Checksum);
        }
        Ok(Self {
            source: u16::from_be_bytes([s0, s1]),
            destination: u16::from_be_bytes([d0, d1]),
            len: len.into(),
        })
    }
}
