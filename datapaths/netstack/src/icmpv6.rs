//! ICMPv6 (RFC 4443): echo, errors about datagrams, and neighbour discovery (RFC 4861).

use crate::icmp::HEADER;
use crate::ipv4::protocol;
use crate::ipv6::{self, Ipv6, pseudo_header};
use crate::{Flow, MacAddr};
use std::net::Ipv6Addr;

const UNREACHABLE: u8 = 1;
const TOO_BIG: u8 = 2;
pub(crate) const ECHO_REQUEST: u8 = 128;
const ECHO_REPLY: u8 = 129;
const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;

/// Within `UNREACHABLE`.
const PORT: u8 = 4;

/// Options that tell the hardware address of who solicits, and of who was solicited.
const SOURCE: u8 = 1;
const TARGET: u8 = 2;

/// Flags of an advertisement: it answers a solicitation, and replaces what was known.
const SOLICITED: u8 = 0x40;
const OVERRIDE: u8 = 0x20;

/// How much of a packet an error quotes: what fits into the shortest frame of ours. (RFC 4443 would have more, but nobody
/// reads beyond the ports.)
const QUOTED: usize = 96;

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Icmpv6 {
    /// Somebody asks whether this interface is there.
    EchoRequest,
    /// A datagram of this flow was not delivered.
    Unreachable(Flow),
    /// A datagram of this flow was too large for a link on the way, which carries packets of so many bytes.
    TooBig(Flow, usize),
    /// Somebody, with this hardware address if it says so, asks who has this address.
    Solicitation(Ipv6Addr, Option<MacAddr>),
    /// A neighbour has this address.
    Advertisement(Ipv6Addr, MacAddr),
    /// Nothing that is dealt with here.
    Other,
}

impl Icmpv6 {
    /// What the message behind `header` is; nothing if its checksum is wrong.
    pub(crate) fn read(packet: &[u8], header: &Ipv6) -> Option<Self> {
        let bytes = &packet[header.len..header.total];
        let sum = pseudo_header(header.source, header.destination, protocol::ICMPV6);
        if !sum.and_number(bytes.len() as u16).and(crate::checksum::Sum::of(bytes)).is_right() {
            return None;
        }
        let (first, rest) = bytes.split_first_chunk::<HEADER>()?;
        Some(match *first {
            [ECHO_REQUEST, 0, ..] => Self::EchoRequest,
            [TOO_BIG, _, _, _, m0, m1, m2, m3] => {
                let mtu = u32::from_be_bytes([m0, m1, m2, m3]) as usize;
                quoted_flow(rest, header.destination).map_or(Self::Other, |flow| Self::TooBig(flow, mtu))
            }
            [UNREACHABLE, ..] => quoted_flow(rest, header.destination).map_or(Self::Other, Self::Unreachable),
            // From farther away than a neighbour, they are forged (RFC 4861, section 7.1).
            [SOLICITATION, 0, ..] if header.hops == 255 => {
                let (target, options) = rest.split_first_chunk::<16>()?;
                Self::Solicitation((*target).into(), option(options, SOURCE))
            }
            [ADVERTISEMENT, 0, ..] if header.hops == 255 => {
                let (target, options) = rest.split_first_chunk::<16>()?;
                let target = (*target).into();
                option(options, TARGET).map_or(Self::Other, |mac| Self::Advertisement(target, mac))
            }
            _ => Self::Other,
        })
    }
}

/// The hardware address in the option of this kind.
fn option(mut options: &[u8], kind: u8) -> Option<MacAddr> {
    while let Some(&[this, units]) = options.first_chunk() {
        let (option, rest) = options.split_at_checked(usize::from(units) * 8)?;
        if option.is_empty() {
            return None;
        }
        if this == kind {
            let mac = MacAddr(*option[2..].first_chunk()?);
            return mac.is_unicast().then_some(mac);
        }
        options = rest;
    }
    None
}

/// The flow of a datagram that `own` sent, of which the header and eight bytes are there at least.
fn quoted_flow(bytes: &[u8], own: Ipv6Addr) -> Option<Flow> {
    let (header, rest) = bytes.split_first_chunk::<{ ipv6::HEADER }>()?;
    let &[s0, s1, d0, d1, ..] = rest.first_chunk::<8>()?;
    let peer: [u8; 16] = *header[24..].first_chunk()?;
    let ours = header[0] >> 4 == 6 && header[6] == protocol::UDP && header[8..24] == own.octets();
    ours.then(|| {
        let peer = Ipv6Addr::from(peer);
        Flow::between(peer.into(), u16::from_be_bytes([d0, d1]), u16::from_be_bytes([s0, s1]))
    })
}

/// Turns the packet of an echo request, with this header, into the answer of `own`.
pub(crate) fn answer_echo(packet: &mut [u8], header: &Ipv6, own: Ipv6Addr) {
    packet[7] = 255;
    packet[8..24].copy_from_slice(&own.octets());
    packet[24..40].copy_from_slice(&header.source.octets());
    packet[header.len] = ECHO_REPLY;
    seal(&mut packet[header.len..header.total], own, header.source);
}

/// Writes that nobody listens at the port that `packet`, with this header, went to. Returns the length.
pub(crate) fn write_port_unreachable(bytes: &mut [u8], own: Ipv6Addr, packet: &[u8], header: &Ipv6) -> usize {
    let quoted = &packet[..header.total.min(QUOTED)];
    write(bytes, own, header.source, [UNREACHABLE, PORT, 0, 0, 0, 0, 0, 0], &[quoted])
}

/// Writes the question who has `target`, to `to`: the group that it must be in, or itself. Returns the length.
pub(crate) fn write_solicitation(
    bytes: &mut [u8],
    own: (MacAddr, Ipv6Addr),
    to: Ipv6Addr,
    target: Ipv6Addr,
) -> usize {
    let option = [[SOURCE, 1].as_slice(), &own.0.0];
    let parts = [&target.octets()[..], option[0], option[1]];
    write(bytes, own.1, to, [SOLICITATION, 0, 0, 0, 0, 0, 0, 0], &parts)
}

/// Writes that `own` has its address, to `to`, who may have asked. Returns the length.
pub(crate) fn write_advertisement(
    bytes: &mut [u8],
    own: (MacAddr, Ipv6Addr),
    to: Ipv6Addr,
    asked: bool,
) -> usize {
    let flags = OVERRIDE | if asked { SOLICITED } else { 0 };
    let parts = [&own.1.octets()[..], &[TARGET, 1], &own.0.0];
    write(bytes, own.1, to, [ADVERTISEMENT, 0, 0, 0, flags, 0, 0, 0], &parts)
}

fn write(bytes: &mut [u8], own: Ipv6Addr, to: Ipv6Addr, first: [u8; HEADER], parts: &[&[u8]]) -> usize {
    let len = HEADER + parts.iter().map(|part| part.len()).sum::<usize>();
    let at = Ipv6::write(bytes, own, to, protocol::ICMPV6, len);
    let message = &mut bytes[at..at + len];
    message[..HEADER].copy_from_slice(&first);
    let mut end = HEADER;
    for part in parts {
        message[end..end + part.len()].copy_from_slice(part);
        end += part.len();
    }
    seal(message, own, to);
    at + len
}

fn seal(message: &mut [u8], own: Ipv6Addr, to: Ipv6Addr) {
    message[2..4].fill(0);
    let sum = pseudo_header(own, to, protocol::ICMPV6).and_number(message.len() as u16);
    let checksum = sum.and(crate::checksum::Sum::of(message)).checksum();
    message[2..4].copy_from_slice(&checksum);
}

/// The group in which neighbours listen for questions about `target` (RFC 4291, section 2.7.1).
pub(crate) fn solicited_group(target: Ipv6Addr) -> Ipv6Addr {
    let [.., a, b, c] = target.octets();
    Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00 | u16::from(a), u16::from_be_bytes([b, c]))
}
