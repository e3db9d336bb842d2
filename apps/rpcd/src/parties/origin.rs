//! The origins of calls and connections.

use bertha_core::{Addr, Network};
use std::net::{IpAddr, Ipv4Addr};

/// The origin of calls. Each has a part of the places at a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// A party of this machine, by a number.
    Link(usize),
    /// All parties of a peer.
    Peer(Peer),
}

/// A peer of other machines: an address of IPv4, or a network of IPv6, in which each sender has many addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Peer {
    Address(Ipv4Addr),
    Network(Network),
}

impl Peer {
    /// Returns the peer at an address. What has no IP address is none.
    pub(crate) fn of(addr: &Addr) -> Option<Self> {
        let Addr::Ip(socket) = addr else { return None };
        match socket.ip().to_canonical() {
            IpAddr::V4(ip) => Some(Self::Address(ip)),
            IpAddr::V6(_) => Network::of(addr).map(Self::Network),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_an_address_or_a_network_of_ipv6() {
        let of = |text: &str| Peer::of(&text.parse().unwrap());
        assert_eq!(of("127.0.0.1:1"), of("127.0.0.1:2"));
        assert_eq!(of("127.0.0.1:1"), of("[::ffff:127.0.0.1]:1"));
        assert_ne!(of("127.0.0.1:1"), of("127.0.0.2:1"));
        assert_eq!(of("[2001:db8::1]:1"), of("[2001:db8::2]:1"));
        assert_ne!(of("[2001:db8::1]:1"), of("[2001:db9::1]:1"));
        assert_eq!(of("unix:/tmp/it"), None);
    }
}
