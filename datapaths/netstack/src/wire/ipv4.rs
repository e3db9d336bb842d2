//! IPv4 headers (RFC 791).

use super::checksum::Sum;
use super::{HOP_LIMIT, IpProtocol, Rejected};
use std::net::Ipv4Addr;
use std::ops::Range;

/// Length of a header without options.
pub(crate) const HEADER: usize = 20;

/// An IPv4 header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ipv4Header {
    pub(crate) source: Ipv4Addr,
    pub(crate) destination: Ipv4Addr,
    pub(crate) protocol: IpProtocol,
    /// Length of the header, options included.
    pub(crate) len: usize,
    /// Length of the whole packet.
    pub(crate) total: usize,
}

impl Ipv4Header {
    /// Creates a header without options in front of `payload` bytes.
    pub(crate) fn new(source: Ipv4Addr, destination: Ipv4Addr, protocol: IpProtocol, payload: usize) -> Self {
        Self { source, destination, protocol, len: HEADER, total: HEADER + payload }
    }

    /// Parses the header at the front of a whole packet. Options are skipped. The checksum is not verified
    /// again if the port has `verified` it.
    #[inline]
    pub(crate) fn parse(bytes: &[u8], verified: bool) -> Result<Self, Rejected> {
        let Some(fixed) = bytes.first_chunk::<HEADER>() else { return Err(Rejected::Malformed) };
        let len = usize::from(fixed[0] & 0xf) * 4;
        let total = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
        if fixed[0] >> 4 != 4 || len < HEADER || total < len || bytes.len() < total {
            return Err(Rejected::Malformed);
        }
        if !verified && !Sum::of(&bytes[..len]).is_valid() {
            return Err(Rejected::Checksum);
        }
        // The field says that more fragments follow, or that the offset is not zero.
        if u16::from_be_bytes([fixed[6], fixed[7]]) & 0x3fff != 0 {
            return Err(Rejected::Fragment);
        }
        let [.., s0, s1, s2, s3, d0, d1, d2, d3] = *fixed;
        Ok(Self {
            source: Ipv4Addr::new(s0, s1, s2, s3),
            destination: Ipv4Addr::new(d0, d1, d2, d3),
            protocol: IpProtocol(fixed[9]),
            len,
            total,
        })
    }

    /// Writes the header of a packet that must not be fragmented to the front of `bytes`, without options, and returns its length.
    pub(crate) fn emit(&self, bytes: &mut [u8]) -> usize {
        bytes[..HEADER].fill(0);
        bytes[0] = 0x45;
        bytes[2..4].copy_from_slice(&(self.total as u16).to_be_bytes());
        // The packet is never fragmented, so it needs no identification (RFC 6864, section 4.1).
        bytes[6] = 0x40;
        bytes[8] = HOP_LIMIT;
        bytes[9] = self.protocol.0;
        bytes[12..16].copy_from_slice(&self.source.octets());
        bytes[16..20].copy_from_slice(&self.destination.octets());
        let checksum = Sum::of(&bytes[..HEADER]).checksum();
        bytes[10..12].copy_from_slice(&checksum);
        HEADER
    }

    /// Returns the range of the packet behind the header.
    #[inline]
    pub(crate) fn payload(&self) -> Range<usize> {
        self.len..self.total
    }

    /// Returns the part of UDP's and TCP's checksums that stems from the addresses and the protocol (RFC
    /// 768), without the length.
    pub(crate) fn pseudo_header(&self) -> Sum {
        let addresses = Sum::of(&self.source.octets()).and(Sum::of(&self.destination.octets()));
        addresses.and_number(self.protocol.0.into())
    }
}
