//! The addresses of an interface, and the ways to other addresses.

use crate::MacAddr;
use crate::wire::ethernet::EthernetHeader;
use crate::wire::{ipv4, ipv6, udp};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// An address and the length of the prefix that all neighbours share: `10.0.0.1/24`, `fd00::1/64`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subnet {
    /// The address of this interface.
    pub address: IpAddr,
    /// Length of the prefix in bits.
    pub prefix: u8,
}

impl Subnet {
    /// Returns true if `address` belongs to a neighbour, or to this interface.
    pub fn contains(&self, address: IpAddr) -> bool {
        let differing = match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => (own.to_bits() ^ other.to_bits()).leading_zeros(),
            (IpAddr::V6(own), IpAddr::V6(other)) => (own.to_bits() ^ other.to_bits()).leading_zeros(),
            _ => return false,
        };
        differing >= self.prefix.into()
    }
}

impl fmt::Display for Subnet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

impl FromStr for Subnet {
    type Err = InvalidInterface;

    fn from_str(text: &str) -> Result<Self, InvalidInterface> {
        let wrong = || InvalidInterface(format!("`{text}` is not an address with a prefix like 10.0.0.1/24"));
        let (address, prefix) = text.split_once('/').ok_or_else(wrong)?;
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let prefix: u8 = prefix.parse().map_err(|_| wrong())?;
        let max = if address.is_ipv4() { 32 } else { 128 };
        if prefix > max { Err(wrong()) } else { Ok(Self { address, prefix }) }
    }
}

/// The reason why an interface can't be as it was described.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidInterface(pub(crate) String);

impl fmt::Display for InvalidInterface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidInterface {}

/// The address and the gateway of a family.
#[derive(Debug, Clone, Copy)]
struct Family {
    subnet: Subnet,
    gateway: Option<IpAddr>,
}

/// An interface: its addresses, and its gateways.
#[derive(Debug, Clone)]
pub struct Interface {
    pub(crate) mac: MacAddr,
    pub(crate) vlan: Option<u16>,
    mtu: usize,
    v4: Option<Family>,
    v6: Option<Family>,
    /// The IPv4 address and the mask of its subnet's host bits, kept since each packet is compared with them;
    /// both are zero without an IPv4 address. Links of two nodes have no host bits (RFC 3021).
    own_v4: u32,
    host_v4: u32,
}

impl Interface {
    /// Creates an interface with at most one address of each family, and a gateway in the subnet for packets
    /// to other subnets. A gateway of IPv6 may have a link-local address instead, as routers mostly do.
    ///
    /// `mtu` is the size of the largest IP packet in bytes. With `vlan`, all frames are tagged with this
    /// number.
    ///
    /// # Errors
    /// Fails if there is no address, two addresses of a family, or an address that an interface can't have;
    /// if a gateway is no neighbour; if the MTU is below the minimum of its families (576, RFC 791; 1280, RFC
    /// 8200) or above 9216; or if the VLAN's number is out of range.
    pub fn new(
        mac: MacAddr,
        mtu: usize,
        vlan: Option<u16>,
        subnets: &[Subnet],
        gateways: &[IpAddr],
    ) -> Result<Self, InvalidInterface> {
        let invalid = |what: String| Err(InvalidInterface(what));
        let mut interface = Self { mac, vlan, mtu, v4: None, v6: None, own_v4: 0, host_v4: 0 };
        if !mac.is_unicast() {
            return invalid(format!("{mac} is not the address of one interface"));
        }
        if vlan.is_some_and(|number| !(1..=4094).contains(&number)) {
            return invalid("the number of a VLAN is between 1 and 4094".into());
        }
        for subnet in subnets {
            if !is_unicast(subnet.address) || subnet.address.is_loopback() {
                return invalid(format!("{subnet} is not an address of an interface"));
            }
            let family = interface.family_mut(subnet.address);
            if family.is_some() {
                return invalid(format!("{subnet} is a second address of its family; one is supported"));
            }
            *family = Some(Family { subnet: *subnet, gateway: None });
            if let IpAddr::V4(own) = subnet.address {
                let host = u32::MAX.checked_shr(subnet.prefix.into()).unwrap_or(0);
                interface.own_v4 = own.to_bits();
                interface.host_v4 = if subnet.prefix < 31 { host } else { 0 };
            }
        }
        for gateway in gateways {
            match interface.family_mut(*gateway) {
                Some(family)
                    if (family.subnet.contains(*gateway) || is_link_local(*gateway))
                        && family.subnet.address != *gateway =>
                {
                    family.gateway = Some(*gateway);
                }
                _ => return invalid(format!("the gateway {gateway} is not in a subnet of the interface")),
            }
        }
        let min = if interface.v6.is_some() { 1280 } else { 576 };
        if !(min..=9216).contains(&mtu) {
            return invalid(format!("an MTU of {mtu} bytes: at least {min} and at most 9216"));
        }
        if subnets.is_empty() {
            return invalid("the interface has no address".into());
        }
        Ok(interface)
    }

    fn family_mut(&mut self, address: IpAddr) -> &mut Option<Family> {
        if address.is_ipv4() { &mut self.v4 } else { &mut self.v6 }
    }

    fn family(&self, address: IpAddr) -> Option<&Family> {
        if address.is_ipv4() { self.v4.as_ref() } else { self.v6.as_ref() }
    }

    /// Returns the interface's address of the family of `other`, if it has such an address.
    pub fn address_for(&self, other: IpAddr) -> Option<IpAddr> {
        self.family(other).map(|family| family.subnet.address)
    }

    /// Returns true if `address` is the interface's own.
    #[inline]
    pub fn is_own(&self, address: IpAddr) -> bool {
        self.address_for(address) == Some(address)
    }

    /// Returns all addresses, with their subnets.
    pub fn subnets(&self) -> impl Iterator<Item = Subnet> {
        [self.v4, self.v6].into_iter().flatten().map(|family| family.subnet)
    }

    /// Returns the size of the largest IP packet, in bytes.
    pub fn mtu(&self) -> usize {
        self.mtu
    }

    /// Returns the size of the largest payload of a datagram to the family of `peer`, in bytes.
    pub fn max_payload(&self, peer: IpAddr) -> usize {
        max_payload(self.mtu, peer)
    }

    /// Returns the length of the headers of a datagram to `peer`: Ethernet's with its tag, IP's and UDP's.
    pub fn headers(&self, peer: IpAddr) -> usize {
        let ip = if peer.is_ipv4() { ipv4::HEADER } else { ipv6::HEADER };
        EthernetHeader::len(self.vlan) + ip + udp::HEADER
    }

    pub(crate) fn v4(&self) -> Option<Ipv4Addr> {
        match self.v4?.subnet.address {
            IpAddr::V4(address) => Some(address),
            IpAddr::V6(_) => None,
        }
    }

    pub(crate) fn v6(&self) -> Option<Ipv6Addr> {
        match self.v6?.subnet.address {
            IpAddr::V4(_) => None,
            IpAddr::V6(address) => Some(address),
        }
    }

    /// Returns true if `address` can belong to a neighbour.
    pub(crate) fn is_neighbour(&self, address: IpAddr) -> bool {
        let near = self.family(address).is_some_and(|family| family.subnet.contains(address));
        !self.is_martian(address) && (near || is_link_local(address))
    }

    /// Returns true if no packet from a wire can have this source: it is this interface's own, or does not
    /// belong to a single interface, or is used only inside of a host.
    pub(crate) fn is_martian(&self, source: IpAddr) -> bool {
        match source {
            IpAddr::V4(source) => self.is_martian_v4(source),
            IpAddr::V6(source) => self.is_martian_v6(source),
        }
    }

    /// Returns true if no IPv4 packet from a wire can have this source (RFC 1122, section 3.2.1.3).
    #[inline]
    pub(crate) fn is_martian_v4(&self, source: Ipv4Addr) -> bool {
        let bits = source.to_bits();
        // These addresses stand for this network, without its number; for the host itself; for a group.
        matches!(bits >> 24, 0 | 127 | 224..=239) || bits == u32::MAX || self.is_own_or_broadcast(bits)
    }

    /// Returns true if an IPv4 address is this interface's own, or stands for its whole subnet: all of its
    /// host bits are set, or none.
    #[inline]
    fn is_own_or_broadcast(&self, bits: u32) -> bool {
        let differing = bits ^ self.own_v4;
        let host = self.host_v4;
        differing == 0 || differing & !host == 0 && (bits & host == host || bits & host == 0)
    }

    /// Returns true if no IPv6 packet from a wire can have this source (RFC 4291, section 2).
    #[inline]
    pub(crate) fn is_martian_v6(&self, source: Ipv6Addr) -> bool {
        let bits = source.to_bits();
        // These addresses are the unspecified and the loopback address; mapped IPv4 addresses, which never
        // are on a wire as such, and which flows would take for IPv4; and groups.
        bits <= 1 || bits >> 32 == 0xffff || bits >> 120 == 0xff || self.v6() == Some(source)
    }

    /// Returns the neighbour through which `to` is reached: `to` itself, or a gateway. Returns `None` without
    /// a gateway, and for groups.
    pub fn next_hop(&self, to: IpAddr) -> Option<IpAddr> {
        let broadcast = matches!(to, IpAddr::V4(to) if self.is_own_or_broadcast(to.to_bits()));
        if !is_unicast(to) || broadcast {
            return None;
        }
        let family = self.family(to)?;
        if family.subnet.contains(to) || is_link_local(to) { Some(to) } else { family.gateway }
    }
}

/// Returns the size of a datagram's payload in an IP packet of `packet` bytes, for the family of `peer`.
pub(crate) fn max_payload(packet: usize, peer: IpAddr) -> usize {
    let header = if peer.is_ipv4() { ipv4::HEADER } else { ipv6::HEADER };
    packet.saturating_sub(header + udp::HEADER)
}

fn is_link_local(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.is_unicast_link_local())
}

/// Returns true if `address` can belong to a single interface.
pub(crate) fn is_unicast(address: IpAddr) -> bool {
    let broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    !address.is_multicast() && !address.is_unspecified() && !broadcast
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

    fn interface(subnets: &[&str], gateways: &[&str], mtu: usize) -> Result<Interface, InvalidInterface> {
        let subnets: Vec<Subnet> = subnets.iter().map(|it| it.parse().unwrap()).collect();
        let gateways: Vec<IpAddr> = gateways.iter().map(|it| it.parse().unwrap()).collect();
        Interface::new(MAC, mtu, None, &subnets, &gateways)
    }

    #[test]
    fn neighbours_are_reached_directly_and_others_through_the_gateway() {
        let it = interface(&["10.1.2.3/16", "fd00::3/64"], &["10.1.0.1", "fd00::1"], 1500).unwrap();
        let hop = |to: &str| it.next_hop(to.parse().unwrap()).map(|hop| hop.to_string());
        assert_eq!(hop("10.1.255.9").as_deref(), Some("10.1.255.9"));
        assert_eq!(hop("10.2.0.9").as_deref(), Some("10.1.0.1"));
        assert_eq!(hop("fd00::9").as_deref(), Some("fd00::9"));
        assert_eq!(hop("fd01::9").as_deref(), Some("fd00::1"));
        assert_eq!(hop("fe80::9").as_deref(), Some("fe80::9"));
        assert_eq!((hop("224.0.0.1"), hop("255.255.255.255"), hop("::")), (None, None, None));
        let routed = interface(&["fd00::3/64"], &["fe80::1"], 1500).unwrap();
        assert_eq!(routed.next_hop("fd01::9".parse().unwrap()), Some("fe80::1".parse().unwrap()));
        let alone = interface(&["10.1.2.3/16"], &[], 1500).unwrap();
        assert_eq!(alone.next_hop([10, 2, 0, 9].into()), None);
        assert_eq!(alone.next_hop(Ipv6Addr::LOCALHOST.into()), None);
        assert_eq!(it.max_payload([10, 0, 0, 1].into()), 1472);
    }

    #[test]
    fn a_neighbour_is_in_the_subnet_and_is_not_the_interface_itself() {
        let it = interface(&["10.1.2.3/16", "fd00::3/64"], &["10.1.0.1", "fd00::1"], 1500).unwrap();
        for (address, expected) in [
            ("10.1.255.9", true),
            ("10.2.0.9", false),
            ("10.1.2.3", false),
            ("127.0.0.1", false),
            ("fd00::9", true),
            ("fd01::9", false),
            ("fd00::3", false),
            ("fe80::9", true),
        ] {
            assert_eq!(it.is_neighbour(address.parse().unwrap()), expected, "{address}");
        }
    }

    #[test]
    fn impossible_interfaces_are_refused() {
        for (subnets, gateways, mtu) in [
            (&[][..], &[][..], 1500),
            (&["127.0.0.1/8"], &[], 1500),
            (&["224.0.0.1/8"], &[], 1500),
            (&["10.0.0.1/8", "10.0.0.2/8"], &[], 1500),
            (&["10.0.0.1/24"], &["10.0.1.1"], 1500),
            (&["10.0.0.1/24"], &["10.0.0.1"], 1500),
            (&["10.0.0.1/24"], &["fd00::1"], 1500),
            (&["10.0.0.1/24"], &["fe80::1"], 1500),
            (&["fe80::1/64"], &["fe80::1"], 1500),
            (&["10.0.0.1/24"], &[], 500),
            (&["fd00::1/64"], &[], 1279),
            (&["10.0.0.1/24"], &[], 9217),
        ] {
            assert!(interface(subnets, gateways, mtu).is_err(), "{subnets:?} {gateways:?} {mtu}");
        }
        for text in ["10.0.0.1", "10.0.0.1/33", "fd00::/129", "x/8", "10.0.0.1/"] {
            assert!(text.parse::<Subnet>().unwrap_err().to_string().contains(text));
        }
    }
}
