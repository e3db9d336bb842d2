//! The stack of one interface.

use crate::arp::{Arp, Operation};
use crate::ethernet::{EtherType, Ethernet};
use crate::icmp::{self, Icmp};
use crate::icmpv6::{self, Icmpv6};
use crate::interface::{is_unicast, payload};
use crate::ipv4::{self, Ipv4, Unread, protocol};
use crate::ipv6::{self, Ipv6};
use crate::neighbours::{Answer, Neighbours};
use crate::outbox::Outbox;
use crate::path_mtu::PathMtus;
use crate::tcp::Tcp;
use crate::udp::{self, Udp};
use crate::{Counters, Flow, Interface, Link, MacAddr, Offload, Path, Prediction};
use std::net::{IpAddr, Ipv6Addr};
use std::ops::Range;
use std::time::{Duration, Instant};

/// How many errors about packets to closed ports are sent in a [`WINDOW`]: strangers are to cause little traffic (RFC 1812,
/// section 4.3.2.8).
const ERRORS: u32 = 100;

const WINDOW: Duration = Duration::from_secs(1);

/// What the port has said of a frame's checksums. The stack looks at those of which it has said nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checksums {
    /// Nothing.
    Unknown,
    /// That of the IPv4 header is right.
    Header,
    /// That of UDP is right, or was left undone since there is no wire: its field may hold anything.
    Payload,
    /// Both are right.
    Good,
    /// One of them is wrong.
    Bad,
}

impl Checksums {
    #[inline]
    pub(crate) fn header(self) -> bool {
        matches!(self, Self::Header | Self::Good)
    }

    #[inline]
    pub(crate) fn payload(self) -> bool {
        matches!(self, Self::Payload | Self::Good)
    }
}

/// What a frame turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arrival {
    /// A datagram to this interface.
    Datagram {
        /// Between whom. If nobody has this flow or listens at its port, see [`Stack::refuse`].
        flow: Flow,
        /// Where in the frame its payload lies.
        payload: Range<usize>,
    },
    /// A TCP segment to this interface, whose header and checksum are right.
    Segment {
        /// Between whom.
        flow: Flow,
        /// Where in the frame its IP packet lies.
        packet: Range<usize>,
        /// Whether it asks for a new connection.
        opens: bool,
    },
    /// The frame was turned into an answer, which is to be sent: its first so many bytes.
    Answer(usize),
    /// A datagram of this flow was not delivered: the peer has nobody at that port, or can't be reached.
    Unreachable(Flow),
    /// A datagram of this flow was too large for a link on the way, which carries IP packets of `mtu` bytes. If there is such a
    /// flow, see [`Stack::narrow`]; else somebody has made it up.
    TooBig {
        /// Whose datagram it was.
        flow: Flow,
        /// What a router says, or is likely to mean.
        mtu: usize,
    },
    /// Nothing that anybody else has to see. It was dealt with, or dropped and counted.
    Nothing,
}

/// How datagrams of a flow leave, or packets to a peer.
#[derive(Debug, Clone)]
pub enum Route<Headers = Path> {
    /// With these headers.
    Ready(Headers),
    /// Not at all: the peer is this interface itself.
    Here,
    /// Not before a neighbour has answered. A request may be in [`Stack::poll_transmit`]; to be asked again when something was
    /// received or some time has passed.
    Waiting,
    /// Not at all, since the neighbour did not answer three requests within three seconds.
    Nobody,
    /// Not at all, since there is neither a neighbour nor a gateway for this address.
    None,
}

/// All that one interface knows.
#[derive(Debug)]
pub struct Stack {
    interface: Interface,
    offload: Offload,
    /// Datagrams over IPv4 have no checksums of UDP, and none is looked at.
    unchecked: bool,
    neighbours: Neighbours,
    path_mtus: PathMtus,
    outbox: Outbox,
    counters: Counters,
    /// Errors sent since the window began.
    errors: (Instant, u32),
    /// What arrives is somebody else's to answer.
    overhears: bool,
}

impl Stack {
    /// A stack that has heard of nobody. `now` is the current time, as everywhere.
    pub fn new(interface: Interface, now: Instant) -> Self {
        Self {
            interface,
            offload: Offload::default(),
            unchecked: false,
            neighbours: Neighbours::new(),
            path_mtus: PathMtus::new(),
            outbox: Outbox::new(),
            counters: Counters::default(),
            errors: (now, 0),
            overhears: false,
        }
    }

    /// Leaves checksums to the port, as far as this says.
    #[must_use]
    pub fn with_offload(self, offload: Offload) -> Self {
        Self { offload, ..self }
    }

    /// Leaves UDP's checksums out over IPv4, as RFC 768 allows, and looks at none: for ports without a wire, where nothing damages
    /// frames. Headers of IPv4, and all over IPv6 (RFC 8200, section 8.1), have theirs, and so has TCP.
    #[must_use]
    pub fn without_udp_checksums(self) -> Self {
        Self { unchecked: true, ..self }
    }

    /// The interface.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// What was dropped and answered.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Tells the neighbours this interface's address (RFC 5227, section 3; RFC 4861, section 7.2.6), so that those who knew
    /// another learn this one. To be called when the link comes up.
    pub fn announce(&mut self) {
        let (own, vlan) = (self.interface.mac, self.interface.vlan);
        if let Some(address) = self.interface.v4() {
            let arp = Arp {
                operation: Operation::Request,
                sender: (own, address),
                target: (MacAddr([0; 6]), address),
            };
            self.queue_arp(&arp, MacAddr::BROADCAST);
        }
        if let Some(address) = self.interface.v6() {
            let all = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
            self.queue(|frame| {
                let at = Ethernet::write(frame, MacAddr::of_group(all), own, vlan, EtherType::IPV6);
                at + icmpv6::write_advertisement(&mut frame[at..], (own, address), all, false)
            });
        }
    }

    /// Takes a frame in.
    pub fn receive(&mut self, frame: &mut [u8], checksums: Checksums, now: Instant) -> Arrival {
        match self.sort(frame, checksums, now) {
            Ok(arrival) => arrival,
            Err(unread) => {
                match unread {
                    Unread::Malformed => self.counters.malformed += 1,
                    Unread::Checksum => self.counters.checksum += 1,
                    Unread::Fragment => self.counters.fragments += 1,
                }
                Arrival::Nothing
            }
        }
    }

    /// Learns from a frame that another stack of the same interface has received, dealt with and counted: several queues have
    /// one each.
    pub fn overhear(&mut self, frame: &mut [u8], checksums: Checksums, now: Instant) -> Arrival {
        let counters = self.counters;
        self.overhears = true;
        let arrival = self.receive(frame, checksums, now);
        self.overhears = false;
        self.counters = counters;
        match arrival {
            Arrival::Answer(_) => Arrival::Nothing,
            other => other,
        }
    }

    #[inline]
    fn sort(&mut self, frame: &mut [u8], checksums: Checksums, now: Instant) -> Result<Arrival, Unread> {
        let link = Ethernet::read(frame).ok_or(Unread::Malformed)?;
        if checksums == Checksums::Bad {
            return Err(Unread::Checksum);
        }
        let ours = link.destination == self.interface.mac;
        if link.vlan != self.interface.vlan || !(ours || link.destination.is_multicast()) {
            return Ok(self.foreign());
        }
        match link.carries {
            EtherType::IPV4 if ours => self.ipv4(frame, &link, checksums),
            EtherType::IPV6 => self.ipv6(frame, &link, checksums, now),
            EtherType::ARP => self.arp(&frame[link.len..], now),
            _ => Ok(self.foreign()),
        }
    }

    fn foreign(&mut self) -> Arrival {
        self.counters.foreign += 1;
        Arrival::Nothing
    }

    #[inline]
    fn ipv4(&mut self, frame: &mut [u8], link: &Ethernet, checksums: Checksums) -> Result<Arrival, Unread> {
        let packet = &mut frame[link.len..];
        let header = Ipv4::read(packet, checksums.header())?;
        if self.interface.v4() != Some(header.destination) || !is_unicast(header.source.into()) {
            return Ok(self.foreign());
        }
        let payload = header.len..header.total;
        match header.protocol {
            protocol::UDP => {
                let pseudo = || ipv4::pseudo_header(header.source, header.destination, protocol::UDP);
                let looked_at = !(self.unchecked || checksums.payload());
                let datagram = Udp::read(&packet[payload], looked_at.then(pseudo), true)?;
                Ok(arrival(&datagram, header.source.into(), link.len + header.len))
            }
            protocol::TCP => {
                let pseudo = || ipv4::pseudo_header(header.source, header.destination, protocol::TCP);
                let segment = Tcp::read(&packet[payload], (!checksums.payload()).then(pseudo))?;
                Ok(segment_arrival(&segment, header.source.into(), link.len..link.len + header.total))
            }
            protocol::ICMP => match Icmp::read(&packet[payload], header.destination) {
                None => Err(Unread::Checksum),
                Some(Icmp::EchoRequest) => {
                    icmp::answer_echo(packet, &header);
                    Ok(self.answer(frame, link, header.total))
                }
                Some(Icmp::Unreachable(flow)) => Ok(self.unreachable(flow)),
                Some(Icmp::TooBig(flow, mtu)) => Ok(self.too_big(flow, mtu)),
                Some(Icmp::Other) => Ok(self.foreign()),
            },
            _ => Ok(self.foreign()),
        }
    }

    fn ipv6(
        &mut self,
        frame: &mut [u8],
        link: &Ethernet,
        checksums: Checksums,
        now: Instant,
    ) -> Result<Arrival, Unread> {
        let Some(own) = self.interface.v6() else { return Ok(self.foreign()) };
        let packet = &mut frame[link.len..];
        let header = Ipv6::read(packet)?;
        let group = icmpv6::solicited_group(own);
        let all = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
        let direct = header.destination == own && link.destination == self.interface.mac;
        if !(direct || header.destination == group || header.destination == all) {
            return Ok(self.foreign());
        }
        match header.protocol {
            protocol::UDP if direct && is_unicast(header.source.into()) => {
                let pseudo = || ipv6::pseudo_header(header.source, header.destination, protocol::UDP);
                let bytes = &packet[header.len..header.total];
                let datagram = Udp::read(bytes, (!checksums.payload()).then(pseudo), false)?;
                Ok(arrival(&datagram, header.source.into(), link.len + header.len))
            }
            protocol::TCP if direct && is_unicast(header.source.into()) => {
                let pseudo = || ipv6::pseudo_header(header.source, header.destination, protocol::TCP);
                let segment =
                    Tcp::read(&packet[header.len..header.total], (!checksums.payload()).then(pseudo))?;
                Ok(segment_arrival(&segment, header.source.into(), link.len..link.len + header.total))
            }
            protocol::ICMPV6 => match Icmpv6::read(packet, &header) {
                None => Err(Unread::Checksum),
                Some(Icmpv6::EchoRequest) if is_unicast(header.source.into()) => {
                    icmpv6::answer_echo(packet, &header, own);
                    Ok(self.answer(frame, link, header.total))
                }
                Some(Icmpv6::Unreachable(flow)) if direct => Ok(self.unreachable(flow)),
                Some(Icmpv6::TooBig(flow, mtu)) if direct => Ok(self.too_big(flow, mtu)),
                Some(Icmpv6::Solicitation(target, mac)) => {
                    self.solicited(own, target, (mac.unwrap_or(link.source), header.source), now);
                    Ok(Arrival::Nothing)
                }
                Some(Icmpv6::Advertisement(target, mac)) => {
                    self.hear(target.into(), mac, false, now);
                    Ok(Arrival::Nothing)
                }
                Some(_) => Ok(self.foreign()),
            },
            _ => Ok(self.foreign()),
        }
    }

    /// Sends the frame, whose packet of `total` bytes was turned into an answer, back to where it came from.
    fn answer(&mut self, frame: &mut [u8], link: &Ethernet, total: usize) -> Arrival {
        self.counters.pings += 1;
        frame[..6].copy_from_slice(&link.source.0);
        frame[6..12].copy_from_slice(&self.interface.mac.0);
        Arrival::Answer(link.len + total)
    }

    fn unreachable(&mut self, flow: Flow) -> Arrival {
        self.counters.errors += 1;
        Arrival::Unreachable(flow)
    }

    fn too_big(&mut self, flow: Flow, mtu: usize) -> Arrival {
        self.counters.errors += 1;
        Arrival::TooBig { flow, mtu }
    }

    fn arp(&mut self, packet: &[u8], now: Instant) -> Result<Arrival, Unread> {
        let arp = Arp::read(packet).ok_or(Unread::Malformed)?;
        let Some(own) = self.interface.v4() else { return Ok(self.foreign()) };
        let (mac, sender) = arp.sender;
        let asks_us = arp.operation == Operation::Request && arp.target.1 == own;
        self.hear(sender.into(), mac, asks_us, now);
        if asks_us && sender != own {
            let reply =
                Arp { operation: Operation::Reply, sender: (self.interface.mac, own), target: arp.sender };
            self.queue_arp(&reply, mac);
        }
        Ok(Arrival::Nothing)
    }

    fn solicited(&mut self, own: Ipv6Addr, target: Ipv6Addr, sender: (MacAddr, Ipv6Addr), now: Instant) {
        if target != own {
            self.counters.foreign += 1;
            return;
        }
        let (mac, address) = sender;
        self.hear(address.into(), mac, true, now);
        // Who has no address yet wants to know whether it may take this one: all are to hear the answer.
        let known = is_unicast(address.into());
        let all = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
        let (to, link) = if known { (address, mac) } else { (all, MacAddr::of_group(all)) };
        let (us, vlan) = (self.interface.mac, self.interface.vlan);
        self.queue(|frame| {
            let at = Ethernet::write(frame, link, us, vlan, EtherType::IPV6);
            at + icmpv6::write_advertisement(&mut frame[at..], (us, own), to, known)
        });
    }

    /// Somebody has said which hardware address belongs to `address`.
    fn hear(&mut self, address: IpAddr, mac: MacAddr, asks_us: bool, now: Instant) {
        if self.interface.is_own(address) {
            self.counters.conflicts += u64::from(mac != self.interface.mac);
        } else {
            self.counters.neighbour += 1;
            if self.interface.is_neighbour(address) {
                self.neighbours.hear(address, mac, asks_us, now);
            }
        }
    }

    /// Whether a stranger may be told once more that nobody is there: a hundred times a second, by whatever protocol.
    pub fn may_refuse(&mut self, now: Instant) -> bool {
        if now.saturating_duration_since(self.errors.0) >= WINDOW {
            self.errors = (now, 0);
        }
        let may = self.errors.1 < ERRORS;
        self.errors.1 += u32::from(may);
        may
    }

    /// Tells the sender of `frame`, which [`receive`](Self::receive) found to be a datagram, that nobody listens at its port.
    pub fn refuse(&mut self, frame: &[u8], now: Instant) {
        if !self.may_refuse(now) {
            return;
        }
        let Some(link) = Ethernet::read(frame) else { return };
        let (packet, own, vlan) = (&frame[link.len..], self.interface.mac, self.interface.vlan);
        // Read once before, so without its checksum.
        if let (EtherType::IPV4, Ok(header)) = (link.carries, Ipv4::read(packet, true)) {
            self.queue(|out| {
                let at = Ethernet::write(out, link.source, own, vlan, EtherType::IPV4);
                at + icmp::write_port_unreachable(&mut out[at..], header.destination, packet, &header)
            });
        } else if let (EtherType::IPV6, Ok(header)) = (link.carries, Ipv6::read(packet)) {
            self.queue(|out| {
                let at = Ethernet::write(out, link.source, own, vlan, EtherType::IPV6);
                at + icmpv6::write_port_unreachable(&mut out[at..], header.destination, packet, &header)
            });
        }
    }

    /// The largest payload of a datagram to `peer`, in bytes, as far as is known of the path.
    pub fn most(&self, peer: IpAddr) -> usize {
        payload(self.path_mtu(peer), peer)
    }

    fn path_mtu(&self, peer: IpAddr) -> usize {
        let mtu = self.interface.mtu();
        self.path_mtus.of(peer).map_or(mtu, |narrow| narrow.min(mtu))
    }

    /// Believes for ten minutes that the path to `peer` carries packets of `mtu` bytes (RFC 1191, RFC 8201), if that is less than
    /// it was thought to; whether it was. Never below what all paths carry: 576 bytes over IPv4, 1280 over IPv6.
    ///
    /// Only to be called for an [error](Arrival::TooBig) about a flow that exists: anybody can send one.
    pub fn narrow(&mut self, peer: IpAddr, mtu: usize, now: Instant) -> bool {
        let before = self.path_mtu(peer);
        self.path_mtus.narrow(peer, mtu, before, now)
    }

    /// When [`poll_widened`](Self::poll_widened) has something to tell; nothing if all paths carry what the interface does.
    #[inline]
    pub fn widens_at(&self) -> Option<Instant> {
        self.path_mtus.next()
    }

    /// Forgets what was said of a path ten minutes ago, and tells which one that was: it may carry more by now.
    pub fn poll_widened(&mut self, now: Instant) -> Option<IpAddr> {
        self.path_mtus.forget(now)
    }

    /// How datagrams of `flow` leave.
    pub fn route(&mut self, flow: Flow, now: Instant) -> Route {
        let peer = flow.peer().ip();
        let Some(own) = self.interface.address_for(peer) else { return Route::None };
        match self.link(peer, now) {
            Route::Ready(link) => Route::Ready(Path::new(flow, own, &link, self.offload, self.unchecked)),
            Route::Here => Route::Here,
            Route::Waiting => Route::Waiting,
            Route::Nobody => Route::Nobody,
            Route::None => Route::None,
        }
    }

    /// How datagrams of `flow` look on arrival; nothing if they are of a rare kind, which [`receive`](Self::receive) alone knows.
    pub fn predict(&self, flow: Flow) -> Option<Prediction> {
        Prediction::new(&self.interface, flow, self.unchecked)
    }

    /// How packets to `peer` leave that have their IP header already.
    pub fn link(&mut self, peer: IpAddr, now: Instant) -> Route<Link> {
        if self.interface.is_own(peer) {
            return Route::Here;
        }
        let Some(hop) = self.interface.next_hop(peer) else { return Route::None };
        let finding = self.neighbours.look_up(hop, now);
        if finding.ask {
            self.ask(hop);
        }
        match finding.answer {
            Answer::Known(mac, until) => {
                let generation = self.generation();
                Route::Ready(Link::new(&self.interface, peer, mac, generation, until))
            }
            Answer::Waiting => Route::Waiting,
            Answer::Nobody => Route::Nobody,
        }
    }

    /// The header of frames from this interface to itself, if `peer` is its own address: nobody has to carry them.
    pub fn link_to_itself(&self, peer: IpAddr, now: Instant) -> Option<Link> {
        let own = self.interface.mac;
        self.interface.is_own(peer).then(|| Link::new(&self.interface, peer, own, 0, now))
    }

    /// Whether headers that [`route`](Self::route) gave may be used once more.
    #[inline]
    pub fn is_current(&self, path: &Path, now: Instant) -> bool {
        path.generation == self.generation() && now < path.until
    }

    /// Changes whenever headers that were given out may no longer be used: a sum of two numbers that only grow.
    #[inline]
    fn generation(&self) -> u32 {
        self.neighbours.generation().wrapping_add(self.path_mtus.generation())
    }

    /// Whether a header that [`link`](Self::link) gave may be used once more.
    #[inline]
    pub fn is_known(&self, link: &Link, now: Instant) -> bool {
        link.generation == self.generation() && now < link.until
    }

    fn ask(&mut self, neighbour: IpAddr) {
        let (mac, vlan) = (self.interface.mac, self.interface.vlan);
        match (neighbour, self.interface.address_for(neighbour)) {
            (IpAddr::V4(target), Some(IpAddr::V4(own))) => {
                let arp = Arp {
                    operation: Operation::Request,
                    sender: (mac, own),
                    target: (MacAddr([0; 6]), target),
                };
                self.queue_arp(&arp, MacAddr::BROADCAST);
            }
            (IpAddr::V6(target), Some(IpAddr::V6(own))) => {
                let group = icmpv6::solicited_group(target);
                self.queue(|frame| {
                    let at = Ethernet::write(frame, MacAddr::of_group(group), mac, vlan, EtherType::IPV6);
                    at + icmpv6::write_solicitation(&mut frame[at..], (mac, own), group, target)
                });
            }
            // `address_for` gives addresses of the same family.
            _ => {}
        }
    }

    fn queue_arp(&mut self, arp: &Arp, to: MacAddr) {
        let (own, vlan) = (self.interface.mac, self.interface.vlan);
        self.queue(|frame| {
            let at = Ethernet::write(frame, to, own, vlan, EtherType::ARP);
            at + arp.write(&mut frame[at..])
        });
    }

    fn queue(&mut self, write: impl FnOnce(&mut [u8; crate::outbox::LONGEST]) -> usize) {
        if !self.overhears && !self.outbox.push(write) {
            self.counters.outbox_full += 1;
        }
    }

    /// Hands a frame of the stack's own to `send`, if one waits. Shorter than the least that Ethernet carries; the port pads
    /// it.
    pub fn poll_transmit<T>(&mut self, send: impl FnOnce(&[u8]) -> T) -> Option<T> {
        self.outbox.pop(send)
    }

    /// Whether a frame waits in [`poll_transmit`](Self::poll_transmit).
    #[inline]
    pub fn has_frames(&self) -> bool {
        !self.outbox.is_empty()
    }
}

/// A datagram whose header begins at `at` in its frame.
#[inline]
fn arrival(datagram: &Udp, peer: IpAddr, at: usize) -> Arrival {
    let flow = Flow::between(peer, datagram.source, datagram.destination);
    Arrival::Datagram { flow, payload: at + udp::HEADER..at + datagram.len }
}

fn segment_arrival(segment: &Tcp, peer: IpAddr, packet: Range<usize>) -> Arrival {
    let flow = Flow::between(peer, segment.source, segment.destination);
    Arrival::Segment { flow, packet, opens: segment.opens }
}
