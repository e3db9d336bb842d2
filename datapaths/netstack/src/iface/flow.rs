//! The two ends of a connection.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// A peer and the local port that it talks to. An interface has at most one address of each family, so the
/// local address follows from the peer's.
///
/// IPv4 addresses are mapped into IPv6 (RFC 4291, section 2.5.5.2): flows are compared for every datagram,
/// and a number compares faster than an enum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Flow {
    peer: u128,
    peer_port: u16,
    /// The port at this end.
    pub local_port: u16,
}

impl Flow {
    /// Creates the flow between `peer` and `local_port` at this end.
    pub fn new(peer: SocketAddr, local_port: u16) -> Self {
        Self::between(peer.ip(), peer.port(), local_port)
    }

    #[inline]
    pub(crate) fn between(peer: IpAddr, peer_port: u16, local_port: u16) -> Self {
        let peer = match peer {
            IpAddr::V4(peer) => peer.to_ipv6_mapped().to_bits(),
            IpAddr::V6(peer) => peer.to_bits(),
        };
        Self { peer, peer_port, local_port }
    }

    /// Returns the exclusive or of the 16-bit words of the peer's address and of both ports.
    #[inline]
    pub(crate) fn folded(&self) -> u16 {
        let halves = (self.peer >> 64) as u64 ^ self.peer as u64;
        let words = (halves >> 32) as u32 ^ halves as u32;
        (words >> 16) as u16 ^ words as u16 ^ self.peer_port ^ self.local_port
    }

    /// Returns true if the flow is for a listener at the address `on`: an address of the flow's family, or
    /// `::`, where listeners accept both families.
    pub fn is_for_listener(&self, on: IpAddr) -> bool {
        on == IpAddr::V6(Ipv6Addr::UNSPECIFIED) || on.is_ipv4() == self.peer().is_ipv4()
    }

    /// Returns the address of the peer.
    pub fn peer(&self) -> SocketAddr {
        SocketAddr::new(Ipv6Addr::from_bits(self.peer).to_canonical(), self.peer_port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listeners_take_their_family_and_at_the_unspecified_address_of_ipv6_both() {
        let flows = ["10.0.0.7:1", "[fe80::1]:1"].map(|peer| Flow::new(peer.parse().unwrap(), 9));
        for (on, takes) in [
            ("0.0.0.0", [true, false]),
            ("10.0.0.1", [true, false]),
            ("fd00::1", [false, true]),
            ("::", [true, true]),
        ] {
            let on = on.parse().unwrap();
            assert_eq!(flows.map(|flow| flow.is_for_listener(on)), takes, "{on}");
        }
    }

    #[test]
    fn peers_of_both_families_come_out_as_they_went_in() {
        for peer in ["10.0.0.7:1", "[fe80::1]:65535", "[::1]:9"] {
            let peer: SocketAddr = peer.parse().unwrap();
            let flow = Flow::new(peer, 4242);
            assert_eq!((flow.peer(), flow.local_port), (peer, 4242));
        }
    }
}
