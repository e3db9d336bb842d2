//! Frames of the stack's own: questions about neighbours and answers to theirs, and errors about closed ports.

use super::{Stack, outbox};
use crate::MacAddr;
use crate::wire::arp::ArpPacket;
use crate::wire::ethernet::{EtherType, EthernetHeader};
use crate::wire::icmpv4;
use crate::wire::icmpv6::{self, Own};
use crate::wire::ipv4::Ipv4Header;
use crate::wire::ipv6::Ipv6Header;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Instant;

impl Stack {
    /// Tells the neighbours this interface's address (RFC 5227, section 3; RFC 4861, section 7.2.6), so that those with an outdated
    /// one learn it. To be called when the link comes up.
    pub fn announce(&mut self) {
        if let Some(own) = self.interface.v4() {
            self.queue_arp(&ArpPacket::request(self.interface.mac, own, own), MacAddr::BROADCAST);
        }
        self.queue_advertisement(icmpv6::ALL_NODES, MacAddr::of_group(icmpv6::ALL_NODES), false);
    }

    /// Asks for the link-layer address of a neighbour.
    pub(super) fn queue_request(&mut self, neighbour: IpAddr) {
        let mac = self.interface.mac;
        match (neighbour, self.interface.address_for(neighbour)) {
            (IpAddr::V4(target), Some(IpAddr::V4(own))) => {
                self.queue_arp(&ArpPacket::request(mac, own, target), MacAddr::BROADCAST);
            }
            (IpAddr::V6(target), Some(IpAddr::V6(ip))) => {
                let group = icmpv6::solicited_node_group(target);
                self.queue(MacAddr::of_group(group), EtherType::IPV6, |bytes| {
                    icmpv6::emit_solicitation(bytes, Own { mac, ip }, group, target)
                });
            }
            // `address_for` gives addresses of the same family.
            _ => {}
        }
    }

    /// Tells this interface's IPv6 address, if it has one, `to` a neighbour that `solicited` it or to a group.
    pub(super) fn queue_advertisement(&mut self, to: Ipv6Addr, to_mac: MacAddr, solicited: bool) {
        if let Some(ip) = self.interface.v6() {
            let own = Own { mac: self.interface.mac, ip };
            self.queue(to_mac, EtherType::IPV6, |bytes| {
                icmpv6::emit_advertisement(bytes, own, to, solicited)
            });
        }
    }

    pub(super) fn queue_arp(&mut self, arp: &ArpPacket, to: MacAddr) {
        self.queue(to, EtherType::ARP, |bytes| arp.emit(bytes));
    }

    /// Queues a frame, whose packet `emit` writes and returns the length of.
    fn queue(&mut self, to: MacAddr, ethertype: EtherType, emit: impl FnOnce(&mut [u8]) -> usize) {
        let (source, vlan) = (self.interface.mac, self.interface.vlan);
        let header = EthernetHeader { destination: to, source, vlan, ethertype };
        let write = |frame: &mut [u8; outbox::MAX_FRAME]| {
            let at = header.emit(frame);
            at + emit(&mut frame[at..])
        };
        if !self.overhears && !self.outbox.push(write) {
            self.counters.outbox_full += 1;
        }
    }

    /// Whether a stranger may be told once more that a port is closed: a hundred times a second, by any protocol.
    pub fn may_refuse(&mut self, now: Instant) -> bool {
        self.error_limit.allow(now)
    }

    /// Tells the sender of `frame`, which [`receive`](Self::receive) found to be a datagram, that its port is closed.
    pub fn refuse(&mut self, frame: &[u8], now: Instant) {
        if !self.may_refuse(now) {
            return;
        }
        let Some((link, at)) = EthernetHeader::parse(frame) else { return };
        let packet = &frame[at..];
        // Received before, so its checksum need not be verified.
        if let (EtherType::IPV4, Ok(header)) = (link.ethertype, Ipv4Header::parse(packet, true)) {
            self.queue(link.source, EtherType::IPV4, |bytes| {
                icmpv4::emit_port_unreachable(bytes, packet, &header)
            });
        } else if let (EtherType::IPV6, Ok(header)) = (link.ethertype, Ipv6Header::parse(packet)) {
            self.queue(link.source, EtherType::IPV6, |bytes| {
                icmpv6::emit_port_unreachable(bytes, packet, &header)
            });
        }
    }

    /// Hands the first frame of the stack's own to `send`, if one waits. It may be shorter than Ethernet's minimum; the port pads it.
    pub fn poll_transmit<T>(&mut self, send: impl FnOnce(&[u8]) -> T) -> Option<T> {
        self.outbox.pop(send)
    }

    /// Whether a frame waits in [`poll_transmit`](Self::poll_transmit).
    #[inline]
    pub fn has_frames(&self) -> bool {
        !self.outbox.is_empty()
    }
}
