//! IPv6 headers (RFC 8200).

use super::checksum::Sum;
use super::{HOP_LIMIT, IpProtocol, Rejected};
use std::net::Ipv6Addr;
use std::ops::Range;

/// The length of a header without extensions.
pub(crate) const HEADER: usize = 40;

/// The extension headers that are skipped at most.
const MAX_EXTENSIONS: usize = 4;

/// The numbers of extension headers that are known.
const HOP_BY_HOP_OPTIONS: u8 = 0;
const FRAGMENT: u8 = 44;
const DESTINATION_OPTIONS: u8 = 60;

/// A header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ipv6Header {
    pub(crate) source: Ipv6Addr,
    pub(crate) destination: Ipv6Addr,
    pub(crate) protocol: IpProtocol,
    pub(crate) hop_limit: u8,
    /// The length of the header with its extensions.
    pub(crate) len: usize,
    /// The length of the whole packet.
    pub(crate) total: usize,
}

impl Ipv6Header {
    /// A header without extensions in front of `payload` bytes. ICMPv6 gets the hop limit that neighbour discovery needs (RFC 4861,
    /// section 7.1).
    pub(crate) fn new(source: Ipv6Addr, destination: Ipv6Addr, protocol: IpProtocol, payload: usize) -> Self {
        let hop_limit = if protocol == IpProtocol::ICMPV6 { 255 } else { HOP_LIMIT };
        Self { source, destination, protocol, hop_limit, len: HEADER, total: HEADER + payload }
    }

    /// The header at the front of a whole packet. Options for every hop and for the destination are skipped; with other extensions
    /// it is a packet of an unknown protocol.
    #[inline]
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Rejected> {
        let Some(fixed) = bytes.first_chunk::<HEADER>() else { return Err(Rejected::Malformed) };
        let total = HEADER + usize::from(u16::from_be_bytes([fixed[4], fixed[5]]));
        if fixed[0] >> 4 != 6 || bytes.len() < total {
            return Err(Rejected::Malformed);
        }
        let (mut protocol, mut len) = (fixed[6], HEADER);
        for _ in 0..MAX_EXTENSIONS {
            match protocol {
                HOP_BY_HOP_OPTIONS | DESTINATION_OPTIONS => {}
                FRAGMENT => return Err(Rejected::Fragment),
                _ => break,
            }
            let Some(&[next, units]) = bytes[len..total].first_chunk() else {
                return Err(Rejected::Malformed);
            };
            len += (usize::from(units) + 1) * 8;
            if len > total {
                return Err(Rejected::Malformed);
            }
            protocol = next;
        }
        let mut addresses = [[0; 16]; 2];
        addresses[0].copy_from_slice(&fixed[8..24]);
        addresses[1].copy_from_slice(&fixed[24..40]);
        let [source, destination] = addresses.map(Ipv6Addr::from);
        let protocol = IpProtocol(protocol);
        Ok(Self { source, destination, protocol, hop_limit: fixed[7], len, total })
    }

    /// Writes the header to the front of `bytes`, without extensions, and returns its length.
    pub(crate) fn emit(&self, bytes: &mut [u8]) -> usize {
        bytes[..4].copy_from_slice(&[0x60, 0, 0, 0]);
        bytes[4..6].copy_from_slice(&((self.total - HEADER) as u16).to_be_bytes());
        bytes[6] = self.protocol.0;
        bytes[7] = self.hop_limit;
        bytes[8..24].copy_from_slice(&self.source.octets());
        bytes[24..40].copy_from_slice(&self.destination.octets());
        HEADER
    }

    /// The bytes of the packet behind the header.
    #[inline]
    pub(crate) fn payload(&self) -> Range<usize> {
        self.len..self.total
    }

    /// The part of a checksum that stems from the addresses and the protocol (RFC 8200, section 8.1), without the length.
    pub(crate) fn pseudo_header(&self) -> Sum {
        let addresses = Sum::of(&self.source.octets()).and(Sum::of(&self.destination.octets()));
        addresses.and_number(self.protocol.0.into())
    }
}
