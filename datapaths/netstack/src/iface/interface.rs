//! The addresses of an interface, and the ways to other addresses.

use super::family::{Family, MAX_ADDRESSES, is_link_local, v6};
use super::subnet::{InvalidInterface, Subnet};
use super::{Binding, Flow};
use crate::MacAddr;
use crate::wire::ethernet::EthernetHeader;
use crate::wire::icmpv6::solicited_node_group;
use crate::wire::{ipv4, ipv6, udp};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// An interface: its addresses, and its gateways.
#[derive(Debug, Clone)]
pub struct Interface {
    pub(crate) mac: MacAddr,
    pub(crate) vlan: Option<u16>,
    mtu: usize,
    v4: Family,
    v6: Family,
    /// The first IPv4 address, kept since each packet is compared with it; zero without an IPv4 address.
    first_v4: OwnV4,
    /// The further IPv4 addresses.
    more_v4: Vec<OwnV4>,
}

/// An own IPv4 address, and the mask of its subnet's host bits. Links of two nodes have no host bits (RFC 3021).
#[derive(Debug, Clone, Copy, Default)]
struct OwnV4 {
    bits: u32,
    host: u32,
}

impl OwnV4 {
    /// Returns true if an IPv4 address is the own address, or stands for its whole subnet: all of its host bits
    /// are set, or none.
    #[inline]
    fn is_own_or_broadcast(self, bits: u32) -> bool {
        let differing = bits ^ self.bits;
        let host = self.host;
        differing == 0 || differing & !host == 0 && (bits & host == host || bits & host == 0)
    }
}

impl Interface {
    /// Creates an interface with at most eight addresses of each family, and at most one gateway of each family, in
    /// one of the subnets, for packets to other subnets. A gateway of IPv6 may have a link-local address instead,
    /// as routers mostly do.
    ///
    /// `mtu` is the size of the largest IP packet in bytes. With `vlan`, all frames are tagged with this
    /// number.
    ///
    /// # Errors
    /// Fails if there is no address, an address twice, too many addresses of a family, or an address that an
    /// interface can't have; if a gateway is no neighbour; if the MTU is below the minimum of its families (576, RFC 791; 1280, RFC
    /// 8200) or above 9216; or if the VLAN's number is out of range.
    pub fn new(
        mac: MacAddr,
        mtu: usize,
        vlan: Option<u16>,
        subnets: &[Subnet],
        gateways: &[IpAddr],
    ) -> Result<Self, InvalidInterface> {
        let invalid = |what: String| Err(InvalidInterface(what));
        let mut interface = Self {
            mac,
            vlan,
            mtu,
            v4: Family::default(),
            v6: Family::default(),
            first_v4: OwnV4::default(),
            more_v4: Vec::new(),
        };
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
            if interface.is_own(subnet.address) {
                return invalid(format!("{subnet} is there twice"));
            }
            let family = interface.family_mut(subnet.address);
            if family.subnets.len() >= MAX_ADDRESSES {
                return invalid(format!("{subnet} is one too many: at most {MAX_ADDRESSES} of its family"));
            }
            family.subnets.push(*subnet);
            if let IpAddr::V4(own) = subnet.address {
                let host = u32::MAX.checked_shr(subnet.prefix.into()).unwrap_or(0);
                let own = OwnV4 { bits: own.to_bits(), host: if subnet.prefix < 31 { host } else { 0 } };
                match interface.v4.subnets.len() {
                    1 => interface.first_v4 = own,
                    _ => interface.more_v4.push(own),
                }
            }
        }
        for gateway in gateways {
            let is_own = interface.is_own(*gateway);
            let family = interface.family_mut(*gateway);
            let is_near = family.contains(*gateway) || is_link_local(*gateway);
            if is_own || !is_near || family.subnets.is_empty() {
                return invalid(format!("the gateway {gateway} is not in a subnet of the interface"));
            }
            family.gateway = Some(*gateway);
        }
        let min = if interface.has_v6() { 1280 } else { 576 };
        if !(min..=9216).contains(&mtu) {
            return invalid(format!("an MTU of {mtu} bytes: at least {min} and at most 9216"));
        }
        if subnets.is_empty() {
            return invalid("the interface has no address".into());
        }
        Ok(interface)
    }

    fn family_mut(&mut self, address: IpAddr) -> &mut Family {
        if address.is_ipv4() { &mut self.v4 } else { &mut self.v6 }
    }

    #[inline]
    fn family(&self, address: IpAddr) -> &Family {
        if address.is_ipv4() { &self.v4 } else { &self.v6 }
    }

    /// Returns the interface's address from which packets to `peer` are sent, if it has an address of the
    /// peer's family.
    pub fn address_for(&self, peer: IpAddr) -> Option<IpAddr> {
        let family = self.family(peer);
        let number = family.source_for(peer)?;
        family.subnets.get(usize::from(number)).map(|subnet| subnet.address)
    }

    /// Returns the flow of datagrams from `local_port` to `peer`, from the address that suits the peer best;
    /// `None` if the interface has no address of the peer's family.
    pub fn flow_to(&self, peer: SocketAddr, local_port: u16) -> Option<Flow> {
        let number = self.family(peer.ip()).source_for(peer.ip())?;
        Some(Flow::new(peer, local_port).at(number))
    }

    /// Returns the interface's address in `flow`, if the interface has an address of this number.
    pub fn own(&self, flow: Flow) -> Option<IpAddr> {
        let family = if flow.is_v4() { &self.v4 } else { &self.v6 };
        family.subnets.get(usize::from(flow.number())).map(|subnet| subnet.address)
    }

    /// Returns the addresses of a listener at `on`: an own address, or the unspecified address, which stands for
    /// the addresses of its family, and over IPv6 for all addresses. Returns `None` for other addresses.
    pub fn binding(&self, on: IpAddr) -> Option<Binding> {
        match on {
            IpAddr::V4(on) if on.is_unspecified() => Some(Binding::Family { is_v4: true }),
            IpAddr::V6(on) if on.is_unspecified() => Some(Binding::All),
            _ => Some(Binding::Address { is_v4: on.is_ipv4(), number: self.family(on).number(on)? }),
        }
    }

    /// Returns true if `address` is the interface's own.
    #[inline]
    pub fn is_own(&self, address: IpAddr) -> bool {
        self.family(address).number(address).is_some()
    }

    /// Returns all addresses, with their subnets.
    pub fn subnets(&self) -> impl Iterator<Item = Subnet> {
        self.v4.subnets.iter().chain(&self.v6.subnets).copied()
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

    /// Returns the number of an own IPv4 address.
    #[inline]
    pub(crate) fn number_v4(&self, address: Ipv4Addr) -> Option<u8> {
        let bits = address.to_bits();
        if bits == self.first_v4.bits && bits != 0 { Some(0) } else { self.number_of_more_v4(bits) }
    }

    #[inline(never)]
    fn number_of_more_v4(&self, bits: u32) -> Option<u8> {
        self.more_v4.iter().position(|own| own.bits == bits).map(|at| at as u8 + 1)
    }

    /// Returns the number of an own IPv6 address.
    #[inline]
    pub(crate) fn number_v6(&self, address: Ipv6Addr) -> Option<u8> {
        self.v6.number(address.into())
    }

    pub(crate) fn has_v4(&self) -> bool {
        !self.v4.subnets.is_empty()
    }

    pub(crate) fn has_v6(&self) -> bool {
        !self.v6.subnets.is_empty()
    }

    /// Returns the own IPv4 addresses.
    pub(crate) fn all_v4(&self) -> impl Iterator<Item = Ipv4Addr> {
        let first = self.has_v4().then_some(self.first_v4);
        first.into_iter().chain(self.more_v4.iter().copied()).map(|own| Ipv4Addr::from_bits(own.bits))
    }

    /// Returns the own IPv6 addresses.
    pub(crate) fn all_v6(&self) -> impl Iterator<Item = Ipv6Addr> {
        self.v6.subnets.iter().filter_map(|subnet| v6(subnet.address))
    }

    /// Returns the own IPv6 address from which packets to `peer` are sent.
    pub(crate) fn v6_for(&self, peer: Ipv6Addr) -> Option<Ipv6Addr> {
        self.address_for(peer.into()).and_then(v6)
    }

    /// Returns the own address that is valid on this link alone, if there is one.
    pub(crate) fn link_local(&self) -> Option<Ipv6Addr> {
        self.all_v6().find(Ipv6Addr::is_unicast_link_local)
    }

    /// Returns the groups in which the interface listens for questions about its addresses, each once: addresses
    /// may have a common group.
    pub(crate) fn groups(&self) -> impl Iterator<Item = Ipv6Addr> {
        let groups = || self.all_v6().map(solicited_node_group);
        groups()
            .enumerate()
            .filter(move |(at, group)| !groups().take(*at).any(|it| it == *group))
            .map(|it| it.1)
    }

    /// Returns true if `address` can belong to a neighbour.
    pub(crate) fn is_neighbour(&self, address: IpAddr) -> bool {
        !self.is_martian(address) && (self.family(address).contains(address) || is_link_local(address))
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

    /// Returns true if an IPv4 address is this interface's own, or stands for the whole subnet of such an
    /// address.
    #[inline]
    fn is_own_or_broadcast(&self, bits: u32) -> bool {
        self.first_v4.is_own_or_broadcast(bits)
            || !self.more_v4.is_empty() && self.more_v4.iter().any(|own| own.is_own_or_broadcast(bits))
    }

    /// Returns true if no IPv6 packet from a wire can have this source (RFC 4291, section 2).
    #[inline]
    pub(crate) fn is_martian_v6(&self, source: Ipv6Addr) -> bool {
        let bits = source.to_bits();
        // These addresses are the unspecified and the loopback address; mapped IPv4 addresses, which never
        // are on a wire as such, and which flows would take for IPv4; and groups.
        bits <= 1 || bits >> 32 == 0xffff || bits >> 120 == 0xff || self.number_v6(source).is_some()
    }

    /// Returns the neighbour through which `to` is reached: `to` itself, or a gateway. Returns `None` without
    /// a gateway, and for groups.
    pub fn next_hop(&self, to: IpAddr) -> Option<IpAddr> {
        let broadcast = matches!(to, IpAddr::V4(to) if self.is_own_or_broadcast(to.to_bits()));
        if !is_unicast(to) || broadcast {
            return None;
        }
        let family = self.family(to);
        if family.subnets.is_empty() {
            return None;
        }
        if family.contains(to) || is_link_local(to) { Some(to) } else { family.gateway }
    }
}

/// Returns the size of a datagram's payload in an IP packet of `packet` bytes, for the family of `peer`.
pub(crate) fn max_payload(packet: usize, peer: IpAddr) -> usize {
    let header = if peer.is_ipv4() { ipv4::HEADER } else { ipv6::HEADER };
    packet.saturating_sub(header + udp::HEADER)
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
    fn several_addresses_of_a_family_are_all_own_with_their_subnets() {
        let it = interface(
            &["10.1.2.3/16", "192.0.2.7/24", "fd00::3/64", "fd01::3/64", "fe80::9/64"],
            &["192.0.2.254", "fd01::1"],
            1500,
        )
        .unwrap();
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        for own in ["10.1.2.3", "192.0.2.7", "fd00::3", "fd01::3", "fe80::9"] {
            assert!(it.is_own(ip(own)) && it.is_martian(ip(own)) && !it.is_neighbour(ip(own)), "{own}");
            assert_eq!(it.address_for(ip(own)), Some(ip(own)));
        }
        for broadcast in ["10.1.255.255", "10.1.0.0", "192.0.2.255", "192.0.2.0"] {
            assert!(it.is_martian(ip(broadcast)) && it.next_hop(ip(broadcast)).is_none(), "{broadcast}");
        }
        for (peer, own, hop) in [
            ("192.0.2.9", "192.0.2.7", "192.0.2.9"),
            ("10.1.9.9", "10.1.2.3", "10.1.9.9"),
            ("198.51.100.1", "192.0.2.7", "192.0.2.254"),
            ("fd01::9", "fd01::3", "fd01::9"),
            ("2001:db8::1", "fd01::3", "fd01::1"),
            ("fe80::7", "fe80::9", "fe80::7"),
        ] {
            assert!(!it.is_martian(ip(peer)));
            assert_eq!((it.address_for(ip(peer)), it.next_hop(ip(peer))), (Some(ip(own)), Some(ip(hop))));
            let flow = it.flow_to(SocketAddr::new(ip(peer), 1), 9).unwrap();
            assert_eq!(it.own(flow), Some(ip(own)), "{peer}");
        }
        assert_eq!(it.own(Flow::new("10.1.9.9:1".parse().unwrap(), 9).at(2)), None);
        // The groups of the two addresses that end alike are one.
        assert_eq!((it.groups().count(), it.link_local()), (2, Some("fe80::9".parse().unwrap())));
    }

    #[test]
    fn listeners_have_addresses_of_the_interface() {
        let it = interface(&["10.1.2.3/16", "192.0.2.7/24", "fd00::3/64"], &[], 1500).unwrap();
        for (on, expected) in [
            ("0.0.0.0", Some(Binding::Family { is_v4: true })),
            ("::", Some(Binding::All)),
            ("10.1.2.3", Some(Binding::Address { is_v4: true, number: 0 })),
            ("192.0.2.7", Some(Binding::Address { is_v4: true, number: 1 })),
            ("fd00::3", Some(Binding::Address { is_v4: false, number: 0 })),
            ("192.0.2.8", None),
            ("fd00::4", None),
        ] {
            assert_eq!(it.binding(on.parse().unwrap()), expected, "{on}");
        }
    }

    #[test]
    fn impossible_interfaces_are_refused() {
        for (subnets, gateways, mtu) in [
            (&[][..], &[][..], 1500),
            (&["127.0.0.1/8"], &[], 1500),
            (&["224.0.0.1/8"], &[], 1500),
            (&["10.0.0.1/8", "10.0.0.1/24"], &[], 1500),
            (&["10.0.0.1/8"; 9], &[], 1500),
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
