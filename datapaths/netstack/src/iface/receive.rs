//! Arriving frames.

use super::{Checksums, Flow, Stack};
use crate::MacAddr;
use crate::iface::neighbour::Statement;
use crate::iface::path_mtu::plateau_below;
use crate::wire::arp::{ArpPacket, Operation};
use crate::wire::ethernet::{EtherType, EthernetHeader};
use crate::wire::icmpv4::{self, Icmpv4Message};
use crate::wire::icmpv6::{self, Icmpv6Message};
use crate::wire::ipv4::Ipv4Header;
use crate::wire::ipv6::Ipv6Header;
use crate::wire::mld::{ListenerQuery, Reason};
use crate::wire::quoted::QuotedDatagram;
use crate::wire::tcp::TcpHeader;
use crate::wire::udp::{self, UdpHeader};
use crate::wire::{IpProtocol, ParameterProblem, Rejected};
use std::net::{IpAddr, Ipv6Addr};
use std::ops::Range;
use std::time::Instant;

/// The result of receiving a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arrival {
    /// A datagram to this interface.
    Datagram {
        /// The datagram's flow. If neither a connection nor a listener has it, see [`Stack::refuse`].
        flow: Flow,
        /// The range of its payload in the frame.
        payload: Range<usize>,
    },
    /// A TCP segment to this interface, with a valid header and checksum.
    Segment {
        /// The segment's flow. If no connection has it, see [`Stack::refuse`].
        flow: Flow,
        /// The range of its IP packet in the frame.
        packet: Range<usize>,
        /// True if the segment asks for a new connection.
        opens: bool,
    },
    /// The frame was turned into a reply, which has to be sent: its first bytes, of this number.
    Reply(usize),
    /// The peer's host accepts no datagrams of this flow: the port is closed, or the host does not speak UDP.
    Refused(Flow),
    /// A datagram of this flow was not delivered, for a reason that may pass: the next datagram may be
    /// delivered (RFC 1122, section 4.2.3.9; RFC 5461).
    Unreachable(Flow),
    /// A datagram of this flow was too large for a link on the way, which carries IP packets of `mtu` bytes.
    /// If the flow exists, see [`Stack::reduce_path_mtu`]; otherwise the error is forged.
    TooBig {
        /// The flow of the datagram.
        flow: Flow,
        /// The MTU that the router reports, or is likely to mean.
        mtu: usize,
    },
    /// The frame was handled, or dropped and counted.
    Nothing,
}

impl Stack {
    /// Processes a frame.
    pub fn receive(&mut self, frame: &mut [u8], checksums: Checksums, now: Instant) -> Arrival {
        self.receive_ethernet(frame, checksums, now).unwrap_or_else(|rejected| {
            match rejected {
                Rejected::Malformed => self.counters.malformed += 1,
                Rejected::Checksum => self.counters.checksum += 1,
                Rejected::Fragment => self.counters.fragments += 1,
                Rejected::Unknown | Rejected::Problem(_) => self.counters.foreign += 1,
            }
            Arrival::Nothing
        })
    }

    /// Learns from a frame that another stack of this interface has received, handled and counted: several
    /// queues have a stack each.
    pub fn overhear(&mut self, frame: &mut [u8], checksums: Checksums, now: Instant) -> Arrival {
        let counters = self.counters;
        self.overhears = true;
        let arrival = self.receive(frame, checksums, now);
        self.overhears = false;
        self.counters = counters;
        match arrival {
            Arrival::Reply(_) => Arrival::Nothing,
            other => other,
        }
    }

    /// Processes a frame of this interface to itself, which was on no wire.
    pub fn receive_own(&mut self, frame: &mut [u8], now: Instant) -> Arrival {
        self.loops_back = true;
        let arrival = self.receive(frame, Checksums::Good, now);
        self.loops_back = false;
        arrival
    }

    #[inline]
    fn receive_ethernet(
        &mut self,
        frame: &mut [u8],
        checksums: Checksums,
        now: Instant,
    ) -> Result<Arrival, Rejected> {
        let (link, at) = EthernetHeader::parse(frame).ok_or(Rejected::Malformed)?;
        if checksums == Checksums::Bad {
            return Err(Rejected::Checksum);
        }
        let direct = link.destination == self.interface.mac;
        if link.vlan != self.interface.vlan || !(direct || link.destination.is_multicast()) {
            return Ok(self.foreign());
        }
        if link.source.is_multicast() {
            return Ok(self.martian());
        }
        match link.ethertype {
            EtherType::IPV4 if direct => self.receive_ipv4(frame, &link, at, checksums, now),
            EtherType::IPV6 => self.receive_ipv6(frame, &link, at, checksums, now),
            EtherType::ARP => self.receive_arp(&frame[at..], now),
            _ => Ok(self.foreign()),
        }
    }

    /// Counts a frame that is not for this interface.
    fn foreign(&mut self) -> Arrival {
        self.counters.foreign += 1;
        Arrival::Nothing
    }

    /// Counts a frame with a source that no sender on a wire has.
    fn martian(&mut self) -> Arrival {
        self.counters.martians += 1;
        Arrival::Nothing
    }

    /// Returns true if a source that no sender on a wire has is valid here, since the frame was on no wire.
    #[cold]
    fn loops_back_from(&self, source: IpAddr) -> bool {
        self.loops_back && self.interface.is_own(source)
    }

    /// Processes the IPv4 packet at the offset `at` of the frame.
    #[inline]
    fn receive_ipv4(
        &mut self,
        frame: &mut [u8],
        link: &EthernetHeader,
        at: usize,
        checksums: Checksums,
        now: Instant,
    ) -> Result<Arrival, Rejected> {
        let packet = &mut frame[at..];
        let header = Ipv4Header::parse(packet, checksums.header())?;
        let Some(own) = self.interface.number_v4(header.destination) else { return Ok(self.foreign()) };
        if self.interface.is_martian_v4(header.source) && !self.loops_back_from(header.source.into()) {
            return Ok(self.martian());
        }
        let payload = header.payload();
        match header.protocol {
            IpProtocol::UDP => {
                let verify = !(self.unchecked || checksums.payload());
                let pseudo = verify.then(|| header.pseudo_header());
                let datagram = UdpHeader::parse(&packet[payload], pseudo, true)?;
                Ok(datagram_arrival(&datagram, header.source.into(), own, at + header.len))
            }
            IpProtocol::TCP => {
                let pseudo = (!checksums.payload()).then(|| header.pseudo_header());
                let segment = TcpHeader::parse(&packet[payload], pseudo)?;
                Ok(segment_arrival(&segment, header.source.into(), own, at..at + header.total))
            }
            IpProtocol::ICMP => match Icmpv4Message::parse(&packet[payload])? {
                Icmpv4Message::EchoRequest => {
                    icmpv4::echo_reply(packet, &header);
                    Ok(self.reply(frame, link, at + header.total))
                }
                Icmpv4Message::Refused(quoted) => Ok(self.undelivered(&quoted, Arrival::Refused)),
                Icmpv4Message::Unreachable(quoted) => Ok(self.undelivered(&quoted, Arrival::Unreachable)),
                // The router predates RFC 1191.
                Icmpv4Message::TooBig { quoted, mtu: 0 } => {
                    Ok(self.too_big(&quoted, plateau_below(quoted.packet_len)))
                }
                Icmpv4Message::TooBig { quoted, mtu } => Ok(self.too_big(&quoted, mtu)),
                Icmpv4Message::Other => Ok(self.foreign()),
            },
            _ => {
                self.refuse_v4(link, icmpv4::PROTOCOL, packet, &header, now);
                Ok(self.foreign())
            }
        }
    }

    /// Processes the IPv6 packet at the offset `at` of the frame.
    fn receive_ipv6(
        &mut self,
        frame: &mut [u8],
        link: &EthernetHeader,
        at: usize,
        checksums: Checksums,
        now: Instant,
    ) -> Result<Arrival, Rejected> {
        if !self.interface.has_v6() {
            return Ok(self.foreign());
        }
        let packet = &mut frame[at..];
        let mut header = Ipv6Header::parse_fixed(packet)?;
        let destination = header.destination;
        let own = self.interface.number_v6(destination).filter(|_| link.destination == self.interface.mac);
        if own.is_none() && !self.is_in_group(destination) {
            return Ok(self.foreign());
        }
        // Only a node without an address sends without a source, to ask for an address.
        let anonymous = header.source.is_unspecified();
        if self.interface.is_martian_v6(header.source)
            && !anonymous
            && !self.loops_back_from(header.source.into())
        {
            return Ok(self.martian());
        }
        if header.may_extend() {
            header = match header.with_extensions(packet) {
                Err(Rejected::Problem(problem)) if !anonymous => {
                    self.report_problem(link, problem, packet, &header, now);
                    return Err(Rejected::Problem(problem));
                }
                parsed => parsed?,
            };
        }
        if anonymous && header.protocol != IpProtocol::ICMPV6 {
            return Ok(self.martian());
        }
        let pseudo = || (!checksums.payload()).then(|| header.pseudo_header());
        match header.protocol {
            IpProtocol::UDP if let Some(own) = own => {
                let datagram = UdpHeader::parse(&packet[header.payload()], pseudo(), false)?;
                Ok(datagram_arrival(&datagram, header.source.into(), own, at + header.len))
            }
            IpProtocol::TCP if let Some(own) = own => {
                let segment = TcpHeader::parse(&packet[header.payload()], pseudo())?;
                Ok(segment_arrival(&segment, header.source.into(), own, at..at + header.total))
            }
            IpProtocol::ICMPV6 => match Icmpv6Message::parse(packet, &header)? {
                Icmpv6Message::Solicitation { target, source_mac }
                    if self.interface.number_v6(target).is_some() =>
                {
                    self.solicited(target, header.source, link.source, source_mac, now);
                    Ok(Arrival::Nothing)
                }
                _ if anonymous => Ok(self.foreign()),
                Icmpv6Message::EchoRequest => {
                    let from =
                        if own.is_some() { Some(destination) } else { self.interface.v6_for(header.source) };
                    let Some(from) = from else { return Ok(self.foreign()) };
                    let len = icmpv6::echo_reply(packet, &header, from);
                    Ok(self.reply(frame, link, at + len))
                }
                Icmpv6Message::Refused(quoted) if own.is_some() => {
                    Ok(self.undelivered(&quoted, Arrival::Refused))
                }
                Icmpv6Message::Unreachable(quoted) if own.is_some() => {
                    Ok(self.undelivered(&quoted, Arrival::Unreachable))
                }
                Icmpv6Message::TooBig { quoted, mtu } if own.is_some() => Ok(self.too_big(&quoted, mtu)),
                Icmpv6Message::Advertisement { target, target_mac, solicited } => {
                    let statement = if solicited { Statement::Reply } else { Statement::Announcement };
                    // Without a link-layer address, the message confirms the address of its sender.
                    self.hear(target.into(), target_mac.unwrap_or(link.source), statement, now);
                    Ok(Arrival::Nothing)
                }
                Icmpv6Message::ListenerQuery(query) => Ok(self.report_groups(query, now)),
                _ => Ok(self.foreign()),
            },
            IpProtocol::UDP | IpProtocol::TCP | IpProtocol::NONE => Ok(self.foreign()),
            _ => {
                let problem = ParameterProblem::next_header(header.protocol_at);
                if !anonymous {
                    self.report_problem(link, problem, packet, &header, now);
                }
                Ok(self.foreign())
            }
        }
    }

    /// Returns the first `len` bytes of the frame, whose packet was turned into a reply, to the sender.
    fn reply(&mut self, frame: &mut [u8], link: &EthernetHeader, len: usize) -> Arrival {
        self.counters.pings += 1;
        frame[..6].copy_from_slice(&link.source.0);
        frame[6..12].copy_from_slice(&self.interface.mac.0);
        Arrival::Reply(len)
    }

    fn undelivered(&mut self, quoted: &QuotedDatagram, arrival: impl FnOnce(Flow) -> Arrival) -> Arrival {
        let Some(flow) = self.own_flow(quoted) else { return self.foreign() };
        self.counters.errors += 1;
        arrival(flow)
    }

    fn too_big(&mut self, quoted: &QuotedDatagram, mtu: usize) -> Arrival {
        let Some(flow) = self.own_flow(quoted) else { return self.foreign() };
        self.counters.errors += 1;
        Arrival::TooBig { flow, mtu }
    }

    /// Returns the flow of a quoted datagram, if this interface sent it.
    fn own_flow(&self, quoted: &QuotedDatagram) -> Option<Flow> {
        let flow = Flow::new(quoted.destination, quoted.source.port());
        let number = match quoted.source.ip() {
            IpAddr::V4(source) => self.interface.number_v4(source),
            IpAddr::V6(source) => self.interface.number_v6(source),
        };
        number.map(|number| flow.at(number))
    }

    /// Returns true if the interface listens to an IPv6 group.
    fn is_in_group(&self, group: Ipv6Addr) -> bool {
        group == icmpv6::ALL_NODES || self.interface.groups().any(|it| it == group)
    }

    fn receive_arp(&mut self, packet: &[u8], now: Instant) -> Result<Arrival, Rejected> {
        let arp = ArpPacket::parse(packet).ok_or(Rejected::Malformed)?;
        if !self.interface.has_v4() {
            return Ok(self.foreign());
        }
        // A node that asks if it may take an address has none (RFC 5227, section 2.1).
        let sender = IpAddr::from(arp.sender);
        let anonymous = arp.sender.is_unspecified();
        let is_from_own = self.interface.number_v4(arp.sender).is_some();
        if !anonymous && self.interface.is_martian(sender) && !is_from_own {
            return Ok(self.martian());
        }
        let is_to_own = self.interface.number_v4(arp.target).is_some();
        let statement = match arp.operation {
            Operation::Request if is_to_own => Statement::Request,
            Operation::Reply if is_to_own => Statement::Reply,
            Operation::Request | Operation::Reply => Statement::Announcement,
        };
        self.hear(sender, arp.sender_mac, statement, now);
        if statement == Statement::Request && !is_from_own {
            let reply = ArpPacket {
                operation: Operation::Reply,
                sender_mac: self.interface.mac,
                sender: arp.target,
                target_mac: arp.sender_mac,
                target: arp.sender,
            };
            self.queue_arp(&reply, arp.sender_mac);
        }
        Ok(Arrival::Nothing)
    }

    /// Handles a neighbour's question for the link-layer address of the own address `target`. The neighbour tells
    /// its own, if it has a network address.
    fn solicited(
        &mut self,
        target: Ipv6Addr,
        source: Ipv6Addr,
        link_source: MacAddr,
        source_mac: Option<MacAddr>,
        now: Instant,
    ) {
        if source.is_unspecified() {
            // A node without an address asks if it may take this address; all nodes have to get the answer
            // (RFC 4861, section 7.2.4).
            let mac = MacAddr::of_group(icmpv6::ALL_NODES);
            return self.queue_advertisement(target, icmpv6::ALL_NODES, mac, false);
        }
        if let Some(mac) = source_mac {
            self.hear(source.into(), mac, Statement::Request, now);
        }
        self.queue_advertisement(target, source, source_mac.unwrap_or(link_source), true);
    }

    /// Handles a router's question for the groups that this interface listens to.
    fn report_groups(&mut self, query: ListenerQuery, now: Instant) -> Arrival {
        let concerns = |group: &Ipv6Addr| query.group.is_unspecified() || query.group == *group;
        let groups: Vec<Ipv6Addr> = self.interface.groups().filter(concerns).collect();
        if !groups.is_empty() && self.may_refuse(now) {
            for group in groups {
                self.queue_report(group, Reason::Asked(query.version));
            }
        }
        self.counters.neighbour += 1;
        Arrival::Nothing
    }

    /// Handles a neighbour's statement that `mac` is the link-layer address of `address`.
    fn hear(&mut self, address: IpAddr, mac: MacAddr, statement: Statement, now: Instant) {
        if self.interface.is_own(address) {
            self.counters.conflicts += u64::from(mac != self.interface.mac);
            return;
        }
        self.counters.neighbour += 1;
        if self.interface.is_neighbour(address) && self.neighbours.hear(address, mac, statement, now) {
            self.counters.disputed += 1;
        }
    }
}

/// Returns the arrival of a datagram to the own address of this number, whose header begins at `at` in its frame.
#[inline]
fn datagram_arrival(datagram: &UdpHeader, peer: IpAddr, own: u8, at: usize) -> Arrival {
    let flow = Flow::between(peer, datagram.source, datagram.destination).at(own);
    Arrival::Datagram { flow, payload: at + udp::HEADER..at + datagram.len }
}

fn segment_arrival(segment: &TcpHeader, peer: IpAddr, own: u8, packet: Range<usize>) -> Arrival {
    let flow = Flow::between(peer, segment.source, segment.destination).at(own);
    Arrival::Segment { flow, packet, opens: segment.opens }
}
