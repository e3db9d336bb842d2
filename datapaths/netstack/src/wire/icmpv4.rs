//! ICMP for IPv4 (RFC 792): echo, and errors about datagrams.

use super::checksum::Sum;
use super::ipv4::Ipv4Header;
use super::quoted::QuotedDatagram;
use super::{HOP_LIMIT, IpProtocol, Rejected};

/// Length of a header.
const HEADER: usize = 8;

/// Types of messages.
const ECHO_REPLY: u8 = 0;
const UNREACHABLE: u8 = 3;
pub(crate) const ECHO_REQUEST: u8 = 8;

/// Codes of `UNREACHABLE`: an unknown protocol; a closed port; a packet that is too large and must not be
/// fragmented.
pub(crate) const PROTOCOL: u8 = 2;
pub(crate) const PORT: u8 = 3;
const FRAGMENTATION_NEEDED: u8 = 4;

/// An ICMP message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Icmpv4Message {
    EchoRequest,
    /// The host of a datagram's receiver reports that no application receives it.
    Refused(QuotedDatagram),
    /// A datagram was not delivered, for a reason that may pass (RFC 1122, section 4.2.3.9).
    Unreachable(QuotedDatagram),
    /// A datagram was too large for a link on the way, which carries packets of `mtu` bytes; `mtu` is 0 if
    /// the router predates RFC 1191.
    TooBig {
        quoted: QuotedDatagram,
        mtu: usize,
    },
    /// Another message.
    Other,
}

impl Icmpv4Message {
    /// Parses the message that is the payload of an IP packet.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Rejected> {
        if !Sum::of(bytes).is_valid() {
            return Err(Rejected::Checksum);
        }
        // A message that is so short has no checksum, and counts as a message with a wrong checksum.
        let (header, quoted) = bytes.split_first_chunk::<HEADER>().ok_or(Rejected::Checksum)?;
        let quoted = QuotedDatagram::parse_ipv4(quoted);
        Ok(match (*header, quoted) {
            ([ECHO_REQUEST, 0, ..], _) => Self::EchoRequest,
            ([UNREACHABLE, FRAGMENTATION_NEEDED, _, _, _, _, m0, m1], Some(quoted)) => {
                Self::TooBig { quoted, mtu: u16::from_be_bytes([m0, m1]).into() }
            }
            ([UNREACHABLE, PROTOCOL | PORT, ..], Some(quoted)) => Self::Refused(quoted),
            ([UNREACHABLE, ..], Some(quoted)) => Self::Unreachable(quoted),
            _ => Self::Other,
        })
    }
}

/// Turns the packet of an echo request, with this header, into its reply.
pub(crate) fn echo_reply(packet: &mut [u8], header: &Ipv4Header) {
    packet[8] = HOP_LIMIT;
    packet[12..16].copy_from_slice(&header.destination.octets());
    packet[16..20].copy_from_slice(&header.source.octets());
    packet[10..12].fill(0);
    let checksum = Sum::of(&packet[..header.len]).checksum();
    packet[10..12].copy_from_slice(&checksum);
    let message = &mut packet[header.payload()];
    message[0] = ECHO_REPLY;
    seal(message);
}

/// Writes the error that no application receives `packet`, with this header: its port or its protocol is
/// unknown, according to `code`. Returns the length, at most 96.
pub(crate) fn emit_unreachable(bytes: &mut [u8], code: u8, packet: &[u8], header: &Ipv4Header) -> usize {
    // The error quotes the header and eight bytes behind it.
    let quoted = &packet[..header.total.min(header.len + 8)];
    let len = HEADER + quoted.len();
    let at = Ipv4Header::new(header.destination, header.source, IpProtocol::ICMP, len).emit(bytes);
    let message = &mut bytes[at..at + len];
    message[..HEADER].fill(0);
    message[..2].copy_from_slice(&[UNREACHABLE, code]);
    message[HEADER..].copy_from_slice(quoted);
    seal(message);
    at + len
}

/// Writes the checksum of a message.
fn seal(message: &mut [u8]) {
    message[2..4].fill(0);
    let checksum = Sum::of(message).checksum();
    message[2..4].copy_from_slice(&checksum);
}
