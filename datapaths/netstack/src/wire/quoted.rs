//! The beginning of a UDP datagram that an ICMP error quotes: its headers at least.

use super::{IpProtocol, ipv4, ipv6};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

/// The headers of a quoted datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QuotedDatagram {
    pub(crate) source: SocketAddr,
    pub(crate) destination: SocketAddr,
    /// Length of the whole IP packet, according to its header.
    pub(crate) packet_len: usize,
}

impl QuotedDatagram {
    /// Parses a datagram over IPv4. Its checksums are not verified: routers have changed the header on the
    /// way.
    pub(crate) fn parse_ipv4(bytes: &[u8]) -> Option<Self> {
        let header = bytes.first_chunk::<{ ipv4::HEADER }>()?;
        let len = usize::from(header[0] & 0xf) * 4;
        if header[0] >> 4 != 4 || len < ipv4::HEADER || IpProtocol(header[9]) != IpProtocol::UDP {
            return None;
        }
        let [.., s0, s1, s2, s3, d0, d1, d2, d3] = *header;
        let [source_port, destination_port] = ports(bytes.get(len..)?)?;
        Some(Self {
            source: (Ipv4Addr::new(s0, s1, s2, s3), source_port).into(),
            destination: (Ipv4Addr::new(d0, d1, d2, d3), destination_port).into(),
            packet_len: u16::from_be_bytes([header[2], header[3]]).into(),
        })
    }

    /// Parses a datagram over IPv6, without extension headers.
    pub(crate) fn parse_ipv6(bytes: &[u8]) -> Option<Self> {
        let (header, rest) = bytes.split_first_chunk::<{ ipv6::HEADER }>()?;
        if header[0] >> 4 != 6 || IpProtocol(header[6]) != IpProtocol::UDP {
            return None;
        }
        let [source, destination]: [[u8; 16]; 2] =
            [*header[8..].first_chunk()?, *header[24..].first_chunk()?];
        let [source_port, destination_port] = ports(rest)?;
        Some(Self {
            source: (Ipv6Addr::from(source), source_port).into(),
            destination: (Ipv6Addr::from(destination), destination_port).into(),
            packet_len: ipv6::HEADER + usize::from(u16::from_be_bytes([header[4], header[5]])),
        })
    }
}

/// Returns source and destination port of UDP's header, which is quoted whole (RFC 792).
fn ports(datagram: &[u8]) -> Option<[u16; 2]> {
    let &[s0, s1, d0, d1, ..] = datagram.first_chunk::<8>()?;
    Some([[s0, s1], [d0, d1]].map(u16::from_be_bytes))
}
