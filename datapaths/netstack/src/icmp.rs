//! ICMP for IPv4 (RFC 792): echo, and errors about datagrams.

use crate::Flow;
use crate::checksum::Sum;
use crate::ipv4::{self, HOPS, Ipv4, protocol};
use crate::path_mtu::plateau_below;
use std::net::Ipv4Addr;

/// The length of a header, in both versions.
pub(crate) const HEADER: usize = 8;

const ECHO_REPLY: u8 = 0;
const UNREACHABLE: u8 = 3;
pub(crate) const ECHO_REQUEST: u8 = 8;

/// Within `UNREACHABLE`: nobody has the port, and a packet that was not to be fragmented is too large.
const PORT: u8 = 3;
const TOO_BIG: u8 = 4;

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Icmp {
    /// Somebody asks whether this interface is there.
    EchoRequest,
    /// A datagram of this flow was not delivered.
    Unreachable(Flow),
    /// A datagram of this flow was too large for a link on the way, which carries packets of so many bytes.
    TooBig(Flow, usize),
    /// Nothing that is dealt with here.
    Other,
}

impl Icmp {
    /// What the message in an IP packet's payload is; nothing if its checksum is wrong.
    pub(crate) fn read(bytes: &[u8], own: Ipv4Addr) -> Option<Self> {
        if !Sum::of(bytes).is_right() {
            return None;
        }
        let (header, quoted) = bytes.split_first_chunk::<HEADER>()?;
        Some(match *header {
            [ECHO_REQUEST, 0, ..] => Self::EchoRequest,
            [UNREACHABLE, TOO_BIG, _, _, _, _, m0, m1] => {
                let Some(flow) = quoted_flow(quoted, own) else { return Some(Self::Other) };
                let mtu = match u16::from_be_bytes([m0, m1]) {
                    // From before RFC 1191. The quoted header has the packet's length.
                    0 => plateau_below(
                        quoted.get(2..4).map_or(0, |len| (len[0] as usize) << 8 | len[1] as usize),
                    ),
                    mtu => mtu.into(),
                };
                Self::TooBig(flow, mtu)
            }
            [UNREACHABLE, ..] => quoted_flow(quoted, own).map_or(Self::Other, Self::Unreachable),
            _ => Self::Other,
        })
    }
}

/// The flow of a datagram that this interface sent, of which the header and eight bytes are there at least.
fn quoted_flow(bytes: &[u8], own: Ipv4Addr) -> Option<Flow> {
    let header = bytes.first_chunk::<{ ipv4::HEADER }>()?;
    let len = usize::from(header[0] & 0xf) * 4;
    let &[s0, s1, d0, d1, ..] = bytes.get(len..)?.first_chunk::<8>()?;
    let [.., a0, a1, a2, a3, b0, b1, b2, b3] = *header;
    let ours = header[0] >> 4 == 4 && len >= ipv4::HEADER && header[9] == protocol::UDP;
    (ours && Ipv4Addr::new(a0, a1, a2, a3) == own).then(|| {
        let peer = Ipv4Addr::new(b0, b1, b2, b3);
        Flow::between(peer.into(), u16::from_be_bytes([d0, d1]), u16::from_be_bytes([s0, s1]))
    })
}

/// Turns the packet of an echo request, with this header, into its answer.
pub(crate) fn answer_echo(packet: &mut [u8], header: &Ipv4) {
    packet[8] = HOPS;
    packet[12..16].copy_from_slice(&header.destination.octets());
    packet[16..20].copy_from_slice(&header.source.octets());
    packet[10..12].fill(0);
    let checksum = Sum::of(&packet[..header.len]).checksum();
    packet[10..12].copy_from_slice(&checksum);
    let message = &mut packet[header.len..header.total];
    message[0] = ECHO_REPLY;
    message[2..4].fill(0);
    let checksum = Sum::of(message).checksum();
    message[2..4].copy_from_slice(&checksum);
}

/// Writes that nobody listens at the port that `packet`, with this header, went to. Returns the length, at most 96.
pub(crate) fn write_port_unreachable(bytes: &mut [u8], own: Ipv4Addr, packet: &[u8], header: &Ipv4) -> usize {
    // The header and eight bytes behind it.
    let quoted = &packet[..header.total.min(header.len + 8)];
    let len = HEADER + quoted.len();
    let at = Ipv4::write(bytes, own, header.source, protocol::ICMP, len);
    let message = &mut bytes[at..at + len];
    message[..HEADER].fill(0);
    message[..2].copy_from_slice(&[UNREACHABLE, PORT]);
    message[HEADER..].copy_from_slice(quoted);
    let checksum = Sum::of(message).checksum();
    message[2..4].copy_from_slice(&checksum);
    at + len
}
