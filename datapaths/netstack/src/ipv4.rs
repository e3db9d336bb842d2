//! IPv4 headers (RFC 791).

use crate::checksum::Sum;
use std::net::Ipv4Addr;

/// The length of a header without options.
pub(crate) const HEADER: usize = 20;

/// How far packets of ours may travel (RFC 1700).
pub(crate) const HOPS: u8 = 64;

/// The numbers of protocols, in both versions of IP.
pub(crate) mod protocol {
    pub(crate) const ICMP: u8 = 1;
    pub(crate) const TCP: u8 = 6;
    pub(crate) const UDP: u8 = 17;
    pub(crate) const ICMPV6: u8 = 58;
}

/// Why a packet is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unread {
    Malformed,
    Checksum,
    Fragment,
}

/// A header that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ipv4 {
    pub(crate) source: Ipv4Addr,
    pub(crate) destination: Ipv4Addr,
    pub(crate) protocol: u8,
    /// The length of the header.
    pub(crate) len: usize,
    /// The length of the whole packet, which is there.
    pub(crate) total: usize,
}

impl Ipv4 {
    /// The header at the beginning of `bytes`, behind which padding may lie. Its checksum is not looked at if the port
    /// has `verified` it.
    #[inline]
    pub(crate) fn read(bytes: &[u8], verified: bool) -> Result<Self, Unread> {
        let Some(fixed) = bytes.first_chunk::<HEADER>() else { return Err(Unread::Malformed) };
        let len = usize::from(fixed[0] & 0xf) * 4;
        let total = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
        if fixed[0] >> 4 != 4 || len < HEADER || total < len || bytes.len() < total {
            return Err(Unread::Malformed);
        }
        if !verified && !Sum::of(&bytes[..len]).is_right() {
            return Err(Unread::Checksum);
        }
        // More fragments, or an offset.
        if u16::from_be_bytes([fixed[6], fixed[7]]) & 0x3fff != 0 {
            return Err(Unread::Fragment);
        }
        let [.., s0, s1, s2, s3, d0, d1, d2, d3] = *fixed;
        Ok(Self {
            source: Ipv4Addr::new(s0, s1, s2, s3),
            destination: Ipv4Addr::new(d0, d1, d2, d3),
            protocol: fixed[9],
            len,
            total,
        })
    }

    /// Writes the header of a packet that is not to be fragmented to the beginning of `bytes`, and returns its length. The
    /// packet has `payload` bytes behind the header.
    pub(crate) fn write(
        bytes: &mut [u8],
        source: Ipv4Addr,
        destination: Ipv4Addr,
        protocol: u8,
        payload: usize,
    ) -> usize {
        let total = (HEADER + payload) as u16;
        bytes[..HEADER].fill(0);
        bytes[0] = 0x45;
        bytes[2..4].copy_from_slice(&total.to_be_bytes());
        // Never fragmented, so it needs no identification (RFC 6864, section 4.1).
        bytes[6] = 0x40;
        bytes[8] = HOPS;
        bytes[9] = protocol;
        bytes[12..16].copy_from_slice(&source.octets());
        bytes[16..20].copy_from_slice(&destination.octets());
        let checksum = Sum::of(&bytes[..HEADER]).checksum();
        bytes[10..12].copy_from_slice(&checksum);
        HEADER
    }
}

/// The part of UDP's checksum that stems from the addresses and the protocol (RFC 768), without the length.
pub(crate) fn pseudo_header(source: Ipv4Addr, destination: Ipv4Addr, protocol: u8) -> Sum {
    Sum::of(&source.octets()).and(Sum::of(&destination.octets())).and_number(protocol.into())
}
