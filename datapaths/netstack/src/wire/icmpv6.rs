//! ICMPv6 (RFC 4443): echo, errors about datagrams, and neighbour discovery (RFC 4861).

use super::checksum::Sum;
use super::ipv6::Ipv6Header;
use super::mld::{self, ListenerQuery};
use super::quoted::QuotedDatagram;
use super::{IpProtocol, ParameterProblem, Rejected};
use crate::MacAddr;
use std::net::Ipv6Addr;

/// Length of a header.
const HEADER: usize = 8;

/// Types of messages.
const UNREACHABLE: u8 = 1;
const TOO_BIG: u8 = 2;
const PARAMETER_PROBLEM: u8 = 4;
pub(crate) const ECHO_REQUEST: u8 = 128;
const ECHO_REPLY: u8 = 129;
const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;

/// The code of `UNREACHABLE` for a closed port, and the code of `PARAMETER_PROBLEM` for an unknown protocol.
const PORT: u8 = 4;
const NEXT_HEADER: u8 = 1;

/// Options with the link-layer address of a solicitation's source, and of an advertisement's target.
const SOURCE_LINK_LAYER: u8 = 1;
const TARGET_LINK_LAYER: u8 = 2;

/// Flags of an advertisement: it answers a solicitation, and replaces what was known.
const SOLICITED: u8 = 0x40;
const OVERRIDE: u8 = 0x20;

/// Largest number of bytes of a packet that an error quotes: as many as fit into the shortest frame of this
/// stack. RFC 4443 asks for more, but no stack reads beyond the ports.
const MAX_QUOTED: usize = 96;

/// The group of all nodes on a link (RFC 4291, section 2.7.1).
pub(crate) const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

/// An ICMPv6 message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Icmpv6Message {
    EchoRequest,
    /// The host of a datagram's receiver reports that no application receives it.
    Refused(QuotedDatagram),
    /// A datagram was not delivered, for a reason that may pass (RFC 1122, section 4.2.3.9).
    Unreachable(QuotedDatagram),
    /// A datagram was too large for a link on the way, which carries packets of `mtu` bytes.
    TooBig {
        quoted: QuotedDatagram,
        mtu: usize,
    },
    /// A neighbour asks for the link-layer address of `target`, and tells its own in `source_mac`, if it has
    /// one.
    Solicitation {
        target: Ipv6Addr,
        source_mac: Option<MacAddr>,
    },
    /// The link-layer address of `target`; without an address, the statement that `target` is reachable. The
    /// message may answer a solicitation.
    Advertisement {
        target: Ipv6Addr,
        target_mac: Option<MacAddr>,
        solicited: bool,
    },
    /// A router asks for the groups that this end listens to.
    ListenerQuery(ListenerQuery),
    /// Another message.
    Other,
}

impl Icmpv6Message {
    /// Parses the message behind `header` in `packet`.
    pub(crate) fn parse(packet: &[u8], header: &Ipv6Header) -> Result<Self, Rejected> {
        let bytes = &packet[header.payload()];
        let sum = header.pseudo_header().and_number(bytes.len() as u16);
        if !sum.and(Sum::of(bytes)).is_valid() {
            return Err(Rejected::Checksum);
        }
        // A message that is so short counts as a message with a wrong checksum, and so does a solicitation or
        // advertisement without a target.
        let (first, rest) = bytes.split_first_chunk::<HEADER>().ok_or(Rejected::Checksum)?;
        let target = || {
            let (target, options) = rest.split_first_chunk::<16>().ok_or(Rejected::Checksum)?;
            let target = Ipv6Addr::from(*target);
            if target.is_multicast() { Err(Rejected::Malformed) } else { Ok((target, options)) }
        };
        Ok(match *first {
            [ECHO_REQUEST, 0, ..] => Self::EchoRequest,
            [TOO_BIG, _, _, _, m0, m1, m2, m3] => {
                let mtu = u32::from_be_bytes([m0, m1, m2, m3]) as usize;
                QuotedDatagram::parse_ipv6(rest).map_or(Self::Other, |quoted| Self::TooBig { quoted, mtu })
            }
            [UNREACHABLE, PORT, ..] => QuotedDatagram::parse_ipv6(rest).map_or(Self::Other, Self::Refused),
            [PARAMETER_PROBLEM, NEXT_HEADER, ..] => {
                QuotedDatagram::parse_ipv6(rest).map_or(Self::Other, Self::Refused)
            }
            [UNREACHABLE, ..] => QuotedDatagram::parse_ipv6(rest).map_or(Self::Other, Self::Unreachable),
            // Messages from farther away than a neighbour are forged (RFC 4861, section 7.1).
            [SOLICITATION | ADVERTISEMENT, code, ..] if code != 0 || header.hop_limit != 255 => {
                return Err(Rejected::Malformed);
            }
            [SOLICITATION, ..] => {
                let (target, options) = target()?;
                let source_mac = link_layer_option(options, SOURCE_LINK_LAYER)?;
                // A node without an address can't name its link-layer address, and asks the group.
                let anonymous = header.source.is_unspecified();
                if anonymous && (source_mac.is_some() || !is_solicited_node_group(header.destination)) {
                    return Err(Rejected::Malformed);
                }
                Self::Solicitation { target, source_mac }
            }
            [ADVERTISEMENT, _, _, _, flags, ..] => {
                let (target, options) = target()?;
                let target_mac = link_layer_option(options, TARGET_LINK_LAYER)?;
                let solicited = flags & SOLICITED != 0;
                if solicited && header.destination.is_multicast() {
                    return Err(Rejected::Malformed);
                }
                Self::Advertisement { target, target_mac, solicited }
            }
            [mld::QUERY, 0, ..] => {
                ListenerQuery::parse(bytes, header).map_or(Self::Other, Self::ListenerQuery)
            }
            _ => Self::Other,
        })
    }
}

/// Returns the link-layer address in the option of this kind. An option of length zero makes the whole
/// message invalid (RFC 4861, section 4.6).
fn link_layer_option(mut options: &[u8], kind: u8) -> Result<Option<MacAddr>, Rejected> {
    let mut found = None;
    while let Some(&this) = options.first() {
        let units = options.get(1).copied().unwrap_or(0);
        let (option, rest) = options.split_at_checked(usize::from(units) * 8).ok_or(Rejected::Malformed)?;
        let bytes = option.get(2..).ok_or(Rejected::Malformed)?;
        if this == kind && found.is_none() {
            let mac = bytes.first_chunk().map(|bytes| MacAddr(*bytes));
            found = Some(mac.filter(|mac| mac.is_unicast()).ok_or(Rejected::Malformed)?);
        }
        options = rest;
    }
    Ok(found)
}

/// Turns the packet of an echo request, with this header, into the reply of `own`, without extension headers.
/// Returns its length.
pub(crate) fn echo_reply(packet: &mut [u8], header: &Ipv6Header, own: Ipv6Addr) -> usize {
    let len = header.payload().len();
    let reply = Ipv6Header::new(own, header.source, IpProtocol::ICMPV6, len);
    packet.copy_within(header.payload(), reply.len);
    reply.emit(packet);
    packet[reply.len] = ECHO_REPLY;
    reply.seal_icmp(&mut packet[reply.payload()]);
    reply.total
}

/// Writes the error that the port is closed to which `packet`, with this header, was sent. Returns the
/// length.
pub(crate) fn emit_port_unreachable(bytes: &mut [u8], packet: &[u8], header: &Ipv6Header) -> usize {
    let first = [UNREACHABLE, PORT, 0, 0, 0, 0, 0, 0];
    emit(bytes, header.destination, header.source, first, &[quoted(packet, header)])
}

/// Writes the error of `own` that a part of `packet`, with this header, is not understood. Returns the
/// length.
pub(crate) fn emit_parameter_problem(
    bytes: &mut [u8],
    own: Ipv6Addr,
    problem: ParameterProblem,
    packet: &[u8],
    header: &Ipv6Header,
) -> usize {
    let [p0, p1, p2, p3] = (problem.pointer as u32).to_be_bytes();
    let first = [PARAMETER_PROBLEM, problem.code, 0, 0, p0, p1, p2, p3];
    emit(bytes, own, header.source, first, &[quoted(packet, header)])
}

/// Returns the part of a packet that an error quotes.
fn quoted<'a>(packet: &'a [u8], header: &Ipv6Header) -> &'a [u8] {
    &packet[..header.total.min(MAX_QUOTED)]
}

/// The link-layer and the network address of an interface of this stack.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Own {
    pub(crate) mac: MacAddr,
    pub(crate) ip: Ipv6Addr,
}

/// Writes the question for the link-layer address of `target`, to `to`: the group that `target` must be in,
/// or `target` itself. Returns the length.
pub(crate) fn emit_solicitation(bytes: &mut [u8], own: Own, to: Ipv6Addr, target: Ipv6Addr) -> usize {
    let parts = [&target.octets()[..], &[SOURCE_LINK_LAYER, 1], &own.mac.0];
    emit(bytes, own.ip, to, [SOLICITATION, 0, 0, 0, 0, 0, 0, 0], &parts)
}

/// Writes the address of `own`, to `to`. `solicited` says that it answers a solicitation. Returns the length.
pub(crate) fn emit_advertisement(bytes: &mut [u8], own: Own, to: Ipv6Addr, solicited: bool) -> usize {
    let flags = OVERRIDE | if solicited { SOLICITED } else { 0 };
    let parts = [&own.ip.octets()[..], &[TARGET_LINK_LAYER, 1], &own.mac.0];
    emit(bytes, own.ip, to, [ADVERTISEMENT, 0, 0, 0, flags, 0, 0, 0], &parts)
}

fn emit(bytes: &mut [u8], own: Ipv6Addr, to: Ipv6Addr, first: [u8; HEADER], parts: &[&[u8]]) -> usize {
    let len = HEADER + parts.iter().map(|part| part.len()).sum::<usize>();
    let header = Ipv6Header::new(own, to, IpProtocol::ICMPV6, len);
    let at = header.emit(bytes);
    let message = &mut bytes[at..at + len];
    message[..HEADER].copy_from_slice(&first);
    let mut end = HEADER;
    for part in parts {
        message[end..end + part.len()].copy_from_slice(part);
        end += part.len();
    }
    header.seal_icmp(message);
    at + len
}

/// Returns the group in which a node listens for questions about its address `target` (RFC 4291, section
/// 2.7.1).
pub(crate) fn solicited_node_group(target: Ipv6Addr) -> Ipv6Addr {
    let [.., a, b, c] = target.octets();
    Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00 | u16::from(a), u16::from_be_bytes([b, c]))
}

fn is_solicited_node_group(group: Ipv6Addr) -> bool {
    group == solicited_node_group(group)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses a message of this type and code, which quotes a datagram.
    fn parsed(kind: u8, code: u8) -> Icmpv6Message {
        let [ours, theirs]: [Ipv6Addr; 2] = ["fd00::1".parse().unwrap(), "fd00::2".parse().unwrap()];
        let datagram = Ipv6Header::new(ours, theirs, IpProtocol::UDP, 8);
        let mut quoted = [0; 48];
        datagram.emit(&mut quoted);
        let mut packet = [0; 200];
        let len = emit(&mut packet, theirs, ours, [kind, code, 0, 0, 0, 0, 5, 0], &[&quoted[..]]);
        let packet = &packet[..len];
        Icmpv6Message::parse(packet, &Ipv6Header::parse(packet).unwrap()).unwrap()
    }

    #[test]
    fn only_a_closed_port_and_an_unknown_protocol_refuse_a_datagram() {
        for code in 0..8 {
            assert_eq!(matches!(parsed(UNREACHABLE, code), Icmpv6Message::Refused(_)), code == PORT);
            assert_eq!(matches!(parsed(UNREACHABLE, code), Icmpv6Message::Unreachable(_)), code != PORT);
            let problem = parsed(PARAMETER_PROBLEM, code);
            assert_eq!(matches!(problem, Icmpv6Message::Refused(_)), code == NEXT_HEADER);
            assert_eq!(problem == Icmpv6Message::Other, code != NEXT_HEADER);
            assert!(matches!(parsed(TOO_BIG, code), Icmpv6Message::TooBig { mtu: 0x500, .. }));
            assert_eq!(parsed(ECHO_REQUEST, code) == Icmpv6Message::EchoRequest, code == 0);
        }
        assert_eq!(parsed(ECHO_REPLY, 0), Icmpv6Message::Other);
    }
}
