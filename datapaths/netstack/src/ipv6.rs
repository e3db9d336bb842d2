//! IPv6 headers (RFC 8200).

use crate::checksum::Sum;
use crate::ipv4::{HOPS, Unread};
use std::net::Ipv6Addr;

/// The length of a header without extensions.
pub(crate) const HEADER: usize = 40;

/// How many extension headers are skipped.
const EXTENSIONS: usize = 4;

/// A header that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ipv6 {
    pub(crate) source: Ipv6Addr,
    pub(crate) destination: Ipv6Addr,
    pub(crate) protocol: u8,
    pub(crate) hops: u8,
    /// The length of the header with its extensions.
    pub(crate) len: usize,
    /// The length of the whole packet, which is there.
    pub(crate) total: usize,
}

impl Ipv6 {
    /// The header at the beginning of `bytes`, behind which padding may lie. Options for every hop and for the destination
    /// are skipped; with other extensions it is a packet of an unknown protocol.
    #[inline]
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Unread> {
        let Some(fixed) = bytes.first_chunk::<HEADER>() else { return Err(Unread::Malformed) };
        let total = HEADER + usize::from(u16::from_be_bytes([fixed[4], fixed[5]]));
        if fixed[0] >> 4 != 6 || bytes.len() < total {
            return Err(Unread::Malformed);
        }
        let (mut protocol, mut len) = (fixed[6], HEADER);
        for _ in 0..EXTENSIONS {
            match protocol {
                // Options for every hop, and for the destination.
                0 | 60 => {}
                44 => return Err(Unread::Fragment),
                _ => break,
            }
            let Some(&[next, units]) = bytes[len..total].first_chunk() else { return Err(Unread::Malformed) };
            len += (usize::from(units) + 1) * 8;
            if len > total {
                return Err(Unread::Malformed);
            }
            protocol = next;
        }
        let mut addresses = [[0; 16]; 2];
        addresses[0].copy_from_slice(&fixed[8..24]);
        addresses[1].copy_from_slice(&fixed[24..40]);
        let [source, destination] = addresses.map(Ipv6Addr::from);
        Ok(Self { source, destination, protocol, hops: fixed[7], len, total })
    }

    /// Writes the header of a packet with `payload` bytes behind it to the beginning of `bytes`, and returns its length.
    pub(crate) fn write(
        bytes: &mut [u8],
        source: Ipv6Addr,
        destination: Ipv6Addr,
        protocol: u8,
        payload: usize,
    ) -> usize {
        bytes[..4].copy_from_slice(&[0x60, 0, 0, 0]);
        bytes[4..6].copy_from_slice(&(payload as u16).to_be_bytes());
        bytes[6] = protocol;
        bytes[7] = if protocol == crate::ipv4::protocol::ICMPV6 { 255 } else { HOPS };
        bytes[8..24].copy_from_slice(&source.octets());
        bytes[24..40].copy_from_slice(&destination.octets());
        HEADER
    }
}

/// The part of a checksum that stems from the addresses and the protocol (RFC 8200, section 8.1), without the length.
pub(crate) fn pseudo_header(source: Ipv6Addr, destination: Ipv6Addr, protocol: u8) -> Sum {
    Sum::of(&source.octets()).and(Sum::of(&destination.octets())).and_number(protocol.into())
}
