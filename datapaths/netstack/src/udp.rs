//! UDP headers (RFC 768).

use crate::checksum::Sum;
use crate::ipv4::Unread;

/// The length of a header.
pub(crate) const HEADER: usize = 8;

/// A header that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Udp {
    pub(crate) source: u16,
    pub(crate) destination: u16,
    /// The length of header and payload, which are there.
    pub(crate) len: usize,
}

impl Udp {
    /// The header at the beginning of the packet's payload `bytes`. Where the checksum is to be looked at, `pseudo` is its
    /// part from the IP header; it may be absent if `optional`.
    #[inline]
    pub(crate) fn read(bytes: &[u8], pseudo: Option<Sum>, optional: bool) -> Result<Self, Unread> {
        let Some(&[s0, s1, d0, d1, l0, l1, c0, c1]) = bytes.first_chunk() else {
            return Err(Unread::Malformed);
        };
        let len = u16::from_be_bytes([l0, l1]);
        let Some(datagram) = bytes.get(..len.into()).filter(|datagram| datagram.len() >= HEADER) else {
            return Err(Unread::Malformed);
        };
        let right = match (pseudo, [c0, c1]) {
            (None, _) => true,
            (Some(_), [0, 0]) => optional,
            (Some(pseudo), _) => pseudo.and_number(len).and(Sum::of(datagram)).is_right(),
        };
        if !right {
            return Err(Unread::Checksum);
        }
        Ok(Self {
            source: u16::from_be_bytes([s0, s1]),
            destination: u16::from_be_bytes([d0, d1]),
            len: len.into(),
        })
    }
}
