//! IPv6 headers (RFC 8200).

use super::checksum::Sum;
use super::ipv6_extensions::End;
use super::{HOP_LIMIT, IpProtocol, Rejected};
use std::net::Ipv6Addr;
use std::ops::Range;

/// Length of a header without extensions.
pub(crate) const HEADER: usize = 40;

/// Offset of the number of the next header.
const NEXT_HEADER: usize = 6;

/// An IPv6 header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ipv6Header {
    pub(crate) source: Ipv6Addr,
    pub(crate) destination: Ipv6Addr,
    pub(crate) protocol: IpProtocol,
    /// Offset of the protocol's number.
    pub(crate) protocol_at: usize,
    pub(crate) hop_limit: u8,
    /// Length of the header with its extensions.
    pub(crate) len: usize,
    /// Length of the whole packet.
    pub(crate) total: usize,
}

impl Ipv6Header {
    /// Creates a header without extensions in front of `payload` bytes. ICMPv6 gets the hop limit that
    /// neighbour discovery needs (RFC 4861, section 7.1).
    pub(crate) fn new(source: Ipv6Addr, destination: Ipv6Addr, protocol: IpProtocol, payload: usize) -> Self {
        let hop_limit = if protocol == IpProtocol::ICMPV6 { 255 } else { HOP_LIMIT };
        Self::ending(source, destination, hop_limit, HEADER + payload, end(protocol))
    }

    fn ending(source: Ipv6Addr, destination: Ipv6Addr, hop_limit: u8, total: usize, end: End) -> Self {
        let End { protocol, named_at: protocol_at, len } = end;
        Self { source, destination, protocol, protocol_at, hop_limit, len, total }
    }

    /// Parses the header at the front of a whole packet, without its extensions: the first extension, if
    /// there is one, counts as the protocol.
    #[inline]
    pub(crate) fn parse_fixed(bytes: &[u8]) -> Result<Self, Rejected> {
        let Some(fixed) = bytes.first_chunk::<HEADER>() else { return Err(Rejected::Malformed) };
        let total = HEADER + usize::from(u16::from_be_bytes([fixed[4], fixed[5]]));
        if fixed[0] >> 4 != 6 || bytes.len() < total {
            return Err(Rejected::Malformed);
        }
        let mut addresses = [[0; 16]; 2];
        addresses[0].copy_from_slice(&fixed[8..24]);
        addresses[1].copy_from_slice(&fixed[24..40]);
        let [source, destination] = addresses.map(Ipv6Addr::from);
        Ok(Self::ending(source, destination, fixed[7], total, end(IpProtocol(fixed[NEXT_HEADER]))))
    }

    /// Returns true if there may be extensions.
    #[inline]
    pub(crate) fn may_extend(&self) -> bool {
        !matches!(self.protocol, IpProtocol::UDP | IpProtocol::TCP | IpProtocol::ICMPV6)
    }

    /// Returns the header with its extensions, which the packet has at its front.
    #[cold]
    pub(crate) fn with_extensions(&self, bytes: &[u8]) -> Result<Self, Rejected> {
        let end = End::find(&bytes[..self.total], end(self.protocol))?;
        Ok(Self::ending(self.source, self.destination, self.hop_limit, self.total, end))
    }

    /// Parses the header at the front of a whole packet, with its extensions.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Rejected> {
        let fixed = Self::parse_fixed(bytes)?;
        if fixed.may_extend() { fixed.with_extensions(bytes) } else { Ok(fixed) }
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

    /// Returns the range of the packet behind the header.
    #[inline]
    pub(crate) fn payload(&self) -> Range<usize> {
        self.len..self.total
    }

    /// Returns the part of a checksum that stems from the addresses and the protocol (RFC 8200, section 8.1),
    /// without the length.
    pub(crate) fn pseudo_header(&self) -> Sum {
        let addresses = Sum::of(&self.source.octets()).and(Sum::of(&self.destination.octets()));
        addresses.and_number(self.protocol.0.into())
    }

    /// Writes the checksum of the ICMPv6 message behind the header (RFC 4443, section 2.3).
    pub(crate) fn seal_icmp(&self, message: &mut [u8]) {
        message[2..4].fill(0);
        let sum = self.pseudo_header().and_number(message.len() as u16);
        let checksum = sum.and(Sum::of(message)).checksum();
        message[2..4].copy_from_slice(&checksum);
    }
}

/// Returns the end of a header without extensions.
fn end(protocol: IpProtocol) -> End {
    End { protocol, named_at: NEXT_HEADER, len: HEADER }
}
