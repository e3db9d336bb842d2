//! The two ends of a connection.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// A peer, and the address and port at this end that it talks to. The address is told by its number among the
/// interface's addresses of the peer's family: [`Interface::own`](crate::Interface::own) has the address.
///
/// IPv4 addresses are mapped into IPv6 (RFC 4291, section 2.5.5.2): flows are compared for every datagram,
/// and a number compares faster than an enum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Flow {
    peer: u128,
    /// The port of the peer, the port at this end, and the number of the address at this end, from the lowest
    /// bit on: a single word to compare and to hash.
    ends: u64,
}

impl Flow {
    /// Creates the flow between `peer` and `local_port` at this end, at the interface's first address of the
    /// peer's family.
    pub fn new(peer: SocketAddr, local_port: u16) -> Self {
        Self::between(peer.ip(), peer.port(), local_port)
    }

    #[inline]
    pub(crate) fn between(peer: IpAddr, peer_port: u16, local_port: u16) -> Self {
        let peer = match peer {
            IpAddr::V4(peer) => peer.to_ipv6_mapped().to_bits(),
            IpAddr::V6(peer) => peer.to_bits(),
        };
        Self { peer, ends: u64::from(peer_port) | u64::from(local_port) << 16 }
    }

    /// Returns the flow with the address of this number at this end.
    #[inline]
    #[must_use]
    pub fn at(self, number: u8) -> Self {
        let ports = u64::from(u32::MAX);
        Self { ends: self.ends & ports | u64::from(number) << 32, ..self }
    }

    /// Returns the number of the address at this end, among the interface's addresses of the peer's family.
    #[inline]
    pub fn number(&self) -> u8 {
        (self.ends >> 32) as u8
    }

    /// Returns the port at this end.
    #[inline]
    pub fn local_port(&self) -> u16 {
        (self.ends >> 16) as u16
    }

    #[inline]
    fn peer_port(&self) -> u16 {
        self.ends as u16
    }

    /// Returns the exclusive or of the 16-bit words of the peer's address and of both ports.
    #[inline]
    pub(crate) fn folded(&self) -> u16 {
        let halves = (self.peer >> 64) as u64 ^ self.peer as u64;
        let words = (halves >> 32) as u32 ^ halves as u32;
        (words >> 16) as u16 ^ words as u16 ^ self.peer_port() ^ self.local_port()
    }

    /// Returns true if the flow is over IPv4.
    #[inline]
    pub fn is_v4(&self) -> bool {
        const MAPPED: u128 = 0xffff;
        self.peer >> 32 == MAPPED
    }

    /// Returns the address of the peer.
    pub fn peer(&self) -> SocketAddr {
        SocketAddr::new(Ipv6Addr::from_bits(self.peer).to_canonical(), self.peer_port())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_of_both_families_come_out_as_they_went_in() {
        for (peer, is_v4) in [("10.0.0.7:1", true), ("[fe80::1]:65535", false), ("[::1]:9", false)] {
            let peer: SocketAddr = peer.parse().unwrap();
            let flow = Flow::new(peer, 4242);
            assert_eq!((flow.peer(), flow.local_port(), flow.number()), (peer, 4242, 0));
            let other = flow.at(7);
            assert_eq!((other.peer(), other.local_port(), other.number()), (peer, 4242, 7));
            assert!(flow.is_v4() == is_v4 && flow != other && other.at(0) == flow);
        }
    }
}
