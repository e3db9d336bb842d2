//! The addresses of an interface that belong to one family.

use super::subnet::Subnet;
use std::cmp::Reverse;
use std::net::{IpAddr, Ipv6Addr};

/// Largest number of addresses of a family: the interface announces all of them at once.
pub(super) const MAX_ADDRESSES: usize = 8;

/// The addresses of a family with their subnets, and the router to other subnets.
#[derive(Debug, Clone, Default)]
pub(super) struct Family {
    pub(super) subnets: Vec<Subnet>,
    pub(super) gateway: Option<IpAddr>,
}

impl Family {
    /// Returns the number of an own address.
    #[inline]
    pub(super) fn number(&self, address: IpAddr) -> Option<u8> {
        self.subnets.iter().position(|subnet| subnet.address == address).map(|number| number as u8)
    }

    /// Returns true if `address` is in one of the subnets.
    pub(super) fn contains(&self, address: IpAddr) -> bool {
        self.subnets.iter().any(|subnet| subnet.contains(address))
    }

    /// Returns the number of the address from which packets to `peer` are sent (RFC 6724, section 5): `peer`
    /// itself if it is an own address, otherwise an address of the peer's scope, in the smallest subnet that
    /// has the peer, or in the router's subnet; of several such addresses the first.
    pub(super) fn source_for(&self, peer: IpAddr) -> Option<u8> {
        if let Some(number) = self.number(peer) {
            return Some(number);
        }
        let rank = |subnet: &Subnet| {
            let is_of_other_scope = is_link_local(subnet.address) != is_link_local(peer);
            let near = subnet.contains(peer).then_some(subnet.prefix);
            let has_router = self.gateway.is_some_and(|gateway| subnet.contains(gateway));
            (is_of_other_scope, Reverse(near), Reverse(has_router))
        };
        let numbered = self.subnets.iter().enumerate();
        numbered.min_by_key(|(_, subnet)| rank(subnet)).map(|(number, _)| number as u8)
    }
}

/// Returns true if `address` is valid on one link alone.
pub(super) fn is_link_local(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.is_unicast_link_local())
}

/// Returns the address as an IPv6 address, if it is one.
pub(super) fn v6(address: IpAddr) -> Option<Ipv6Addr> {
    match address {
        IpAddr::V4(_) => None,
        IpAddr::V6(address) => Some(address),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(addresses: &[&str], gateway: &str, peer: &str) -> Option<u8> {
        let subnets = addresses.iter().map(|it| it.parse().unwrap()).collect();
        Family { subnets, gateway: gateway.parse().ok() }.source_for(peer.parse().unwrap())
    }

    #[test]
    fn packets_leave_from_the_address_that_is_nearest_to_their_peer() {
        let v4 = ["10.0.0.1/8", "10.1.0.1/16", "192.0.2.1/24", "10.0.0.2/8"];
        for (peer, expected) in
            [("10.1.0.7", 1), ("10.2.0.7", 0), ("192.0.2.7", 2), ("10.0.0.2", 3), ("198.51.100.7", 2)]
        {
            assert_eq!(source(&v4, "192.0.2.254", peer), Some(expected), "{peer}");
        }
        assert_eq!(source(&v4, "", "198.51.100.7"), Some(0));
        let v6 = ["fe80::1/64", "fd00::1/64", "fd01::1/64"];
        for (peer, expected) in [("fe80::7", 0), ("fd01::7", 2), ("fd00::7", 1), ("2001:db8::7", 1)] {
            assert_eq!(source(&v6, "fe80::9", peer), Some(expected), "{peer}");
        }
        assert_eq!(source(&[], "", "10.0.0.1"), None);
    }
}
