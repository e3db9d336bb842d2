//! The networks of clients.

use bertha::Addr;
use std::net::IpAddr;

/// The network of a client: the first 24 bits of its IPv4 address, or the first 56 bits of its IPv6 address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::resp) struct Network(u64);

impl Network {
    /// Returns the network of a client at this address; `None` for a client of a Unix socket.
    pub(in crate::resp) fn of(addr: &Addr) -> Option<Self> {
        let Addr::Ip(addr) = addr else { return None };
        Some(match addr.ip().to_canonical() {
            // No network of IPv6 has such a number: it would be one of 2^56 addresses that are not given out.
            IpAddr::V4(ip) => Self(u64::MAX << 32 | u64::from(u32::from(ip) >> 8)),
            IpAddr::V6(ip) => Self((u128::from(ip) >> 72) as u64),
        })
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
        assert_eq!(of("unix:/tmp/it"), None);
    }
}
