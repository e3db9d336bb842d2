//! The networks of senders.

use bertha_core::Addr;
use std::net::IpAddr;

/// The network from which a single sender may have addresses: the first 24 bits of an IPv4 address, the first
/// 56 of an IPv6 address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Network(pub(super) [u8; 8]);

impl Network {
    /// Returns the network of `peer`; `None` for an address without a network.
    pub(crate) fn of(peer: &Addr) -> Option<Self> {
        let mut network = [0; 8];
        match peer {
            Addr::Ip(addr) => match addr.ip().to_canonical() {
                IpAddr::V4(ip) => network[..3].copy_from_slice(&ip.octets()[..3]),
                IpAddr::V6(ip) => {
                    network[..7].copy_from_slice(&ip.octets()[..7]);
                    network[7] = 6;
                }
            },
            _ => return None,
        }
        Some(Self(network))
    }
}
