//! The header of a packet, as far as boxes read it.

mod parse;

pub use parse::NoHeader;

use crate::hash::mix;
use std::net::{IpAddr, SocketAddr};

/// The header of an IP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Number of bytes of the packet, from its IP header on.
    pub len: u32,
    /// The sender; the port is zero if the packet has none.
    pub source: SocketAddr,
    /// The receiver; the port is zero if the packet has none.
    pub destination: SocketAddr,
    /// The number of the protocol above IP.
    pub protocol: u8,
    /// The differentiated services code point, from 0 to 63 (RFC 2474).
    pub dscp: u8,
    /// The number that tells this packet from others to the same destination: the identification of IPv4, or else a checksum; `None` if the
    /// packet has neither.
    pub identity: Option<u16>,
}

impl Header {
    /// Reads the header of an IP packet, which may be cut off behind its ports: nothing is compared with the length that the header gives.
    ///
    /// # Errors
    /// [`NoHeader`] if the bytes are no packet of IPv4 or IPv6, or if a header is cut off.
    pub fn parse(packet: &[u8]) -> Result<Self, NoHeader> {
        parse::header(packet)
    }

    /// Returns the hash that decides if the packet is a boundary; `None` if it can't be one.
    pub(crate) fn hash(&self, key: u64) -> Option<u64> {
        let identity = u64::from(self.identity?);
        let port = u64::from(self.destination.port());
        Some(mix(mix_address(key, self.destination.ip()), identity << 16 | port))
    }

    /// Returns a number for the packet's flow, which differs for most flows.
    pub(crate) fn flow(&self) -> u64 {
        let ports = u64::from(self.source.port()) << 16 | u64::from(self.destination.port());
        let addresses = mix_address(mix_address(0, self.source.ip()), self.destination.ip());
        mix(addresses, ports << 8 | u64::from(self.protocol))
    }
}

fn mix_address(hash: u64, address: IpAddr) -> u64 {
    match address {
        IpAddr::V4(address) => mix(hash, u64::from(address.to_bits())),
        IpAddr::V6(address) => {
            let bits = address.to_bits();
            mix(mix(hash, (bits >> 64) as u64), bits as u64)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_reads_identity_destination_and_key_alone() {
        let header = Header {
            len: 1_500,
            source: ([10, 0, 0, 1], 7).into(),
            destination: ([10, 1, 0, 1], 80).into(),
            protocol: 6,
            dscp: 0,
            identity: Some(3),
        };
        let hash = header.hash(9).unwrap();
        let same = Header { len: 40, source: ([10, 9, 9, 9], 1).into(), dscp: 46, ..header };
        assert_eq!(same.hash(9), Some(hash));
        let others = [
            Header { identity: Some(4), ..header }.hash(9),
            Header { destination: ([10, 1, 0, 2], 80).into(), ..header }.hash(9),
            Header { destination: ([10, 1, 0, 1], 81).into(), ..header }.hash(9),
            header.hash(8),
        ];
        assert!(others.iter().all(|other| *other != Some(hash)), "{others:?}");
        assert_eq!(Header { identity: None, ..header }.hash(9), None);
    }
}
