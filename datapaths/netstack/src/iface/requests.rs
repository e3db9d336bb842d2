//! Frames that the stack itself sends: questions about neighbours, answers to their questions, and reports of
//! groups.

use super::neighbour::Question;
use super::{Stack, outbox};
use crate::MacAddr;
use crate::wire::arp::ArpPacket;
use crate::wire::ethernet::{EtherType, EthernetHeader};
use crate::wire::icmpv6::{self, Own};
use crate::wire::mld;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Instant;

impl Stack {
    /// Tells this interface's addresses to the neighbours (RFC 5227, section 3; RFC 4861, section 7.2.6), so
    /// that neighbours with an outdated address learn them, and tells switches the groups in which it is asked
    /// for them (RFC 4861, section 7.2.1). The caller does so when the link comes up.
    pub fn announce(&mut self) {
        let all_v4: Vec<_> = self.interface.all_v4().collect();
        for own in all_v4 {
            self.queue_arp(&ArpPacket::request(self.interface.mac, own, own), MacAddr::BROADCAST);
        }
        let groups: Vec<_> = self.interface.groups().collect();
        for group in groups {
            self.queue_report(group, mld::Reason::Begins);
        }
        let all_v6: Vec<_> = self.interface.all_v6().collect();
        for own in all_v6 {
            self.queue_advertisement(own, icmpv6::ALL_NODES, MacAddr::of_group(icmpv6::ALL_NODES), false);
        }
    }

    /// Queues the questions about neighbours that are due; [`neighbours_due`](Self::neighbours_due) returns
    /// the time.
    #[cold]
    pub fn poll_neighbours(&mut self, now: Instant) {
        let mut questions = Vec::new();
        self.neighbours.step(now, |neighbour, question| questions.push((neighbour, question)));
        for (neighbour, question) in questions {
            self.queue_request(neighbour, question);
        }
    }

    /// Queues a question for the link-layer address of a neighbour.
    pub(super) fn queue_request(&mut self, neighbour: IpAddr, question: Question) {
        let mac = self.interface.mac;
        match (neighbour, self.interface.address_for(neighbour)) {
            (IpAddr::V4(target), Some(IpAddr::V4(own))) => {
                let to = match question {
                    Question::All => MacAddr::BROADCAST,
                    Question::One(known) => known,
                };
                self.queue_arp(&ArpPacket::request(mac, own, target), to);
            }
            (IpAddr::V6(target), Some(IpAddr::V6(ip))) => {
                let (to_mac, to) = match question {
                    Question::All => {
                        let group = icmpv6::solicited_node_group(target);
                        (MacAddr::of_group(group), group)
                    }
                    Question::One(known) => (known, target),
                };
                self.queue(to_mac, EtherType::IPV6, |bytes| {
                    icmpv6::emit_solicitation(bytes, Own { mac, ip }, to, target)
                });
            }
            // This does not happen: `address_for` returns addresses of the neighbour's family.
            _ => {}
        }
    }

    /// Queues the statement that this interface has the IPv6 address `ip`, `to` a neighbour that `solicited` it or
    /// to a group.
    pub(super) fn queue_advertisement(
        &mut self,
        ip: Ipv6Addr,
        to: Ipv6Addr,
        to_mac: MacAddr,
        solicited: bool,
    ) {
        let own = Own { mac: self.interface.mac, ip };
        self.queue(to_mac, EtherType::IPV6, |bytes| icmpv6::emit_advertisement(bytes, own, to, solicited));
    }

    /// Queues the report of a `group` in which this interface listens for questions about its addresses, to
    /// switches and routers.
    pub(super) fn queue_report(&mut self, group: Ipv6Addr, reason: mld::Reason) {
        let to = MacAddr::of_group(mld::receivers(group, reason));
        // An interface without a link-local address sends from the unspecified address (RFC 3590).
        let source = self.interface.link_local().unwrap_or(Ipv6Addr::UNSPECIFIED);
        self.queue(to, EtherType::IPV6, |bytes| mld::emit_report(bytes, source, group, reason));
    }

    pub(super) fn queue_arp(&mut self, arp: &ArpPacket, to: MacAddr) {
        self.queue(to, EtherType::ARP, |bytes| arp.emit(bytes));
    }

    /// Queues a frame. `emit` writes its packet and returns the packet's length.
    pub(super) fn queue(&mut self, to: MacAddr, ethertype: EtherType, emit: impl FnOnce(&mut [u8]) -> usize) {
        let source = self.interface.mac;
        let vlan = self.interface.vlan;
        let header = EthernetHeader { destination: to, source, vlan, ethertype };
        let write = |frame: &mut [u8; outbox::MAX_FRAME]| {
            let at = header.emit(frame);
            at + emit(&mut frame[at..])
        };
        if !self.overhears && !self.outbox.push(write) {
            self.counters.outbox_full += 1;
        }
    }

    /// Passes the first of the stack's own frames to `send`, if a frame waits. The frame may be shorter than
    /// Ethernet's minimum; the port pads it.
    pub fn poll_transmit<T>(&mut self, send: impl FnOnce(&[u8]) -> T) -> Option<T> {
        self.outbox.pop(send)
    }

    /// Returns true if a frame waits in [`poll_transmit`](Self::poll_transmit), or a neighbour is
    /// [settled](Self::take_settled).
    #[inline]
    pub fn has_news(&self) -> bool {
        self.has_frames() || self.neighbours.is_settled()
    }

    /// Returns true if a frame waits in [`poll_transmit`](Self::poll_transmit).
    #[inline]
    pub fn has_frames(&self) -> bool {
        !self.outbox.is_empty()
    }
}
