//! Errors for packets that no application receives. Strangers cause few such errors (RFC 1812, section
//! 4.3.2.8).

use super::Stack;
use crate::wire::ethernet::{EtherType, EthernetHeader};
use crate::wire::icmpv4;
use crate::wire::icmpv6;
use crate::wire::ipv4::{self, Ipv4Header};
use crate::wire::ipv6::{self, Ipv6Header};
use crate::wire::tcp;
use crate::wire::{IpProtocol, ParameterProblem};
use std::time::Instant;

impl Stack {
    /// Returns true if another stranger may be told that no application receives its packet: this happens at
    /// most a hundred times a second, over all protocols.
    pub fn may_refuse(&mut self, now: Instant) -> bool {
        self.error_limit.allow(now)
    }

    /// Tells the sender of `frame`, which [`receive`](Self::receive) found to be a datagram or a segment, that its port is closed: by
    /// ICMP, or by a reset.
    pub fn refuse(&mut self, frame: &[u8], now: Instant) {
        let Some((link, at)) = EthernetHeader::parse(frame) else { return };
        let packet = &frame[at..];
        // The frame was received before, so its checksum need not be verified.
        match link.ethertype {
            EtherType::IPV4 => match Ipv4Header::parse(packet, true) {
                Ok(header) if header.protocol == IpProtocol::TCP => {
                    self.reset_v4(&link, packet, &header, now);
                }
                Ok(header) => self.refuse_v4(&link, icmpv4::PORT, packet, &header, now),
                Err(_) => {}
            },
            EtherType::IPV6 => match Ipv6Header::parse(packet) {
                Ok(header) if header.protocol == IpProtocol::TCP => {
                    self.reset_v6(&link, packet, &header, now);
                }
                Ok(header) if self.may_refuse(now) => {
                    self.queue(link.source, EtherType::IPV6, |bytes| {
                        icmpv6::emit_port_unreachable(bytes, packet, &header)
                    });
                }
                _ => {}
            },
            _ => {}
        }
    }

    /// Tells the sender of an IPv4 packet that no application receives it.
    #[cold]
    pub(super) fn refuse_v4(
        &mut self,
        link: &EthernetHeader,
        code: u8,
        packet: &[u8],
        header: &Ipv4Header,
        now: Instant,
    ) {
        if self.may_refuse(now) {
            self.queue(link.source, EtherType::IPV4, |bytes| {
                icmpv4::emit_unreachable(bytes, code, packet, header)
            });
        }
    }

    /// Tells the sender of an IPv6 packet to this interface that a part of it is not understood.
    #[cold]
    pub(super) fn report_problem(
        &mut self,
        link: &EthernetHeader,
        problem: ParameterProblem,
        packet: &[u8],
        header: &Ipv6Header,
        now: Instant,
    ) {
        let is_to_own = self.interface.number_v6(header.destination).is_some();
        let own = if is_to_own { Some(header.destination) } else { self.interface.v6_for(header.source) };
        let Some(own) = own else { return };
        let alone = is_to_own && link.destination == self.interface.mac;
        if (alone || problem.to_group) && self.may_refuse(now) {
            self.queue(link.source, EtherType::IPV6, |bytes| {
                icmpv6::emit_parameter_problem(bytes, own, problem, packet, header)
            });
        }
    }

    fn reset_v4(&mut self, link: &EthernetHeader, packet: &[u8], header: &Ipv4Header, now: Instant) {
        let reset = Ipv4Header::new(header.destination, header.source, IpProtocol::TCP, tcp::HEADER);
        let mut bytes = [0; ipv4::HEADER + tcp::HEADER];
        let (front, back) = bytes.split_at_mut(ipv4::HEADER);
        reset.emit(front);
        if tcp::emit_reset(back, &packet[header.payload()], reset.pseudo_header()) && self.may_refuse(now) {
            self.queue_bytes(link, EtherType::IPV4, &bytes);
        }
    }

    fn reset_v6(&mut self, link: &EthernetHeader, packet: &[u8], header: &Ipv6Header, now: Instant) {
        let reset = Ipv6Header::new(header.destination, header.source, IpProtocol::TCP, tcp::HEADER);
        let mut bytes = [0; ipv6::HEADER + tcp::HEADER];
        let (front, back) = bytes.split_at_mut(ipv6::HEADER);
        reset.emit(front);
        if tcp::emit_reset(back, &packet[header.payload()], reset.pseudo_header()) && self.may_refuse(now) {
            self.queue_bytes(link, EtherType::IPV6, &bytes);
        }
    }

    fn queue_bytes(&mut self, link: &EthernetHeader, ethertype: EtherType, packet: &[u8]) {
        self.queue(link.source, ethertype, |bytes| {
            bytes[..packet.len()].copy_from_slice(packet);
            packet.len()
        });
    }
}
