//! Reading of IPv4 and IPv6 headers (RFC 791, RFC 8200).

use super::Header;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The reason why a packet has no header that a box can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoHeader {
    /// The first byte names neither IPv4 nor IPv6.
    Version(u8),
    /// The packet ends inside of its header.
    Truncated,
    /// The header gives a length that is shorter than itself.
    Length(u16),
}

impl fmt::Display for NoHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(f, "a packet of version {version} is neither IPv4 nor IPv6"),
            Self::Truncated => f.write_str("a packet ends inside of its IP header"),
            Self::Length(len) => write!(f, "an IP header gives a length of {len} bytes, less than its own"),
        }
    }
}

impl std::error::Error for NoHeader {}

/// Bits of the field of flags and offset in IPv4.
const DO_NOT_FRAGMENT: u16 = 0x4000;
const IS_FRAGMENT: u16 = 0x3fff;

const TCP: u8 = 6;
const UDP: u8 = 17;
const DCCP: u8 = 33;
const SCTP: u8 = 132;
const UDP_LITE: u8 = 136;

pub(super) fn header(packet: &[u8]) -> Result<Header, NoHeader> {
    match packet.first().map(|first| first >> 4) {
        Some(4) => v4(packet),
        Some(6) => v6(packet),
        Some(version) => Err(NoHeader::Version(version)),
        None => Err(NoHeader::Truncated),
    }
}

fn v4(packet: &[u8]) -> Result<Header, NoHeader> {
    let fixed: &[u8; 20] = packet.first_chunk().ok_or(NoHeader::Truncated)?;
    let len = u16::from_be_bytes([fixed[2], fixed[3]]);
    let header_len = usize::from(fixed[0] & 0xf) * 4;
    if header_len < fixed.len() || usize::from(len) < header_len {
        return Err(NoHeader::Length(len));
    }
    let identification = u16::from_be_bytes([fixed[4], fixed[5]]);
    let flags = u16::from_be_bytes([fixed[6], fixed[7]]);
    let is_fragment = flags & IS_FRAGMENT != 0;
    // Senders of packets that are never fragmented may leave the identification at zero (RFC 6864).
    let is_named = identification != 0 || flags & DO_NOT_FRAGMENT == 0;
    let protocol = fixed[9];
    let above = packet.get(header_len..).unwrap_or_default();
    let (from, to) = if is_fragment { (0, 0) } else { ports(protocol, above)? };
    let address = |at: usize| Ipv4Addr::new(fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]);
    Ok(Header {
        len: u32::from(len),
        source: SocketAddr::new(IpAddr::V4(address(12)), from),
        destination: SocketAddr::new(IpAddr::V4(address(16)), to),
        protocol,
        dscp: fixed[1] >> 2,
        identity: match (is_fragment, is_named) {
            (true, _) => None,
            (false, true) => Some(identification),
            (false, false) => checksum(protocol, above),
        },
    })
}

/// Reads the ports of a packet without extension headers; other packets of IPv6 have port zero.
fn v6(packet: &[u8]) -> Result<Header, NoHeader> {
    let fixed: &[u8; 40] = packet.first_chunk().ok_or(NoHeader::Truncated)?;
    let payload = u16::from_be_bytes([fixed[4], fixed[5]]);
    let protocol = fixed[6];
    let above = &packet[fixed.len()..];
    let (from, to) = ports(protocol, above)?;
    let address = |at: usize| {
        let bytes = fixed.get(at..).and_then(|rest| rest.first_chunk::<16>());
        IpAddr::V6(bytes.map_or(Ipv6Addr::UNSPECIFIED, |bytes| Ipv6Addr::from(*bytes)))
    };
    Ok(Header {
        len: u32::from(payload) + fixed.len() as u32,
        source: SocketAddr::new(address(8), from),
        destination: SocketAddr::new(address(24), to),
        protocol,
        dscp: (u16::from_be_bytes([fixed[0], fixed[1]]) >> 6) as u8 & 0x3f,
        identity: checksum(protocol, above),
    })
}

/// Returns the checksum over the payload, which differs from packet to packet as an identification does; `None` if the packet has none.
fn checksum(protocol: u8, above: &[u8]) -> Option<u16> {
    let at = match protocol {
        TCP => 16,
        UDP | UDP_LITE => 6,
        _ => return None,
    };
    let checksum = u16::from_be_bytes(*above.get(at..)?.first_chunk()?);
    // Senders of UDP may leave the checksum at zero (RFC 768).
    (checksum != 0).then_some(checksum)
}

fn ports(protocol: u8, above: &[u8]) -> Result<(u16, u16), NoHeader> {
    if !matches!(protocol, TCP | UDP | DCCP | SCTP | UDP_LITE) {
        return Ok((0, 0));
    }
    let [a, b, c, d] = *above.first_chunk().ok_or(NoHeader::Truncated)?;
    Ok((u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn v4_packet(flags: u16, identification: u16) -> Vec<u8> {
        let mut packet = vec![0x45, 46 << 2, 0, 120, 0, 0, 0, 0, 64, UDP, 0, 0, 10, 0, 0, 1, 10, 1, 0, 2];
        packet[4..6].copy_from_slice(&identification.to_be_bytes());
        packet[6..8].copy_from_slice(&flags.to_be_bytes());
        packet.extend([0x12, 0x34, 0, 80]);
        packet
    }

    #[test]
    fn a_header_of_ipv4_is_read() {
        let header = Header::parse(&v4_packet(DO_NOT_FRAGMENT, 7)).unwrap();
        let expected = Header {
            len: 120,
            source: ([10, 0, 0, 1], 0x1234).into(),
            destination: ([10, 1, 0, 2], 80).into(),
            protocol: UDP,
            dscp: 46,
            identity: Some(7),
        };
        assert_eq!(header, expected);
        let mut options = v4_packet(0, 7);
        options[0] = 0x46;
        options.splice(20..20, [1; 4]);
        assert_eq!(Header::parse(&options), Ok(expected));
    }

    #[test]
    fn fragments_and_packets_without_an_identification_have_no_identity() {
        let identity = |flags, identification| {
            let header = Header::parse(&v4_packet(flags, identification)).unwrap();
            (header.identity, header.destination.port())
        };
        assert_eq!(identity(DO_NOT_FRAGMENT, 0), (None, 80));
        assert_eq!(identity(0, 0), (Some(0), 80));
        // The first fragment, and the last one.
        assert_eq!(identity(0x2000, 7), (None, 0));
        assert_eq!(identity(0x00b9, 7), (None, 0));
    }

    #[test]
    fn a_header_of_ipv6_is_read() {
        let mut packet = vec![0x6b, 0x80, 0, 0, 0, 20, TCP, 64];
        packet.extend([1; 16]);
        packet.extend([2; 16]);
        packet.extend([0, 9, 1, 0]);
        packet.extend([0; 12]);
        packet.extend([3, 4, 0, 0]);
        let header = Header::parse(&packet).unwrap();
        let expected = Header {
            len: 60,
            source: ([0x101; 8], 9).into(),
            destination: ([0x202; 8], 256).into(),
            protocol: TCP,
            dscp: 46,
            identity: Some(0x0304),
        };
        assert_eq!(header, expected);
        let cut = Header::parse(&packet[..44]).unwrap();
        assert_eq!(cut, Header { identity: None, ..expected });
    }

    #[test]
    fn a_checksum_names_a_packet_without_an_identification() {
        let identity = |protocol, checksum: [u8; 2]| {
            let mut packet = v4_packet(DO_NOT_FRAGMENT, 0);
            packet[9] = protocol;
            packet.extend([0, 100, checksum[0], checksum[1]]);
            Header::parse(&packet).unwrap().identity
        };
        assert_eq!(identity(UDP, [1, 2]), Some(0x0102));
        assert_eq!(identity(UDP_LITE, [1, 2]), Some(0x0102));
        assert_eq!(identity(UDP, [0, 0]), None);
        assert_eq!(identity(SCTP, [1, 2]), None);
    }

    #[test]
    fn what_is_no_packet_is_named() {
        let packet = v4_packet(0, 7);
        for cut in [0, 1, 19, 22] {
            assert_eq!(Header::parse(&packet[..cut]), Err(NoHeader::Truncated), "{cut}");
        }
        assert_eq!(Header::parse(&[0x55; 40]), Err(NoHeader::Version(5)));
        let mut short = packet.clone();
        short[0] = 0x44;
        assert_eq!(Header::parse(&short), Err(NoHeader::Length(120)));
        short[0] = 0x45;
        short[3] = 19;
        assert_eq!(Header::parse(&short), Err(NoHeader::Length(19)));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..80), version in 4_u8..7) {
            if let Some(first) = bytes.first_mut() {
                *first = version << 4 | *first & 0xf;
            }
            let _ = Header::parse(&bytes);
        }
    }
}
