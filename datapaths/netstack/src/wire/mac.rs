//! Link-layer addresses of Ethernet.

use std::fmt;
use std::net::Ipv6Addr;

/// The address of an Ethernet interface (IEEE 802).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MacAddr(pub [u8; 6]);

impl MacAddr {
    /// The address of all interfaces.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// Returns true if the address names a group of interfaces, or all interfaces.
    pub fn is_multicast(self) -> bool {
        self.0[0] & 1 == 1
    }

    /// Returns true if the address can belong to a single interface.
    pub fn is_unicast(self) -> bool {
        !self.is_multicast() && self.0 != [0; 6]
    }

    /// Returns the address of frames to the IPv6 group `group` (RFC 2464, section 7).
    pub(crate) fn of_group(group: Ipv6Addr) -> Self {
        let [.., a, b, c, d] = group.octets();
        Self([0x33, 0x33, a, b, c, d])
    }
}

/// Writes six pairs of digits: `02:00:00:00:00:01`.
impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}
