//! The networks of senders.

use crate::Addr;
use std::net::IpAddr;

/// The network from which a single sender may have addresses: the first 24 bits of an IPv4 address, the first
/// 56 of an IPv6 address. A server that limits its clients counts by networks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Network([u8; 8]);

impl Network {
    /// Returns the network of `peer`; `None` for an address without a network.
    pub fn of(peer: &Addr) -> Option<Self> {
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

    /// Returns the bytes that tell the network from any other network.
    pub fn as_bytes(&self) -> &[u8; 8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_prefixes() {
        let of = |text: &str| Network::of(&text.parse().unwrap());
        assert_eq!(of("10.0.0.1:1"), of("10.0.0.200:2"));
        assert_ne!(of("10.0.0.1:1"), of("10.0.1.1:1"));
        assert_eq!(of("[2001:db8::1]:1"), of("[2001:db8:0:ff::2]:1"));
        assert_ne!(of("[2001:db8::1]:1"), of("[2001:db8:0:100::1]:1"));
        assert_eq!(of("[::ffff:10.0.0.9]:1"), of("10.0.0.1:1"));
        assert_ne!(of("[a00::]:1"), of("10.0.0.1:1"));
        assert_eq!(of("unix:/tmp/it"), None);
    }
}
