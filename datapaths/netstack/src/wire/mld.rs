//! Multicast listener discovery: an interface reports the groups that it listens to, so that switches forward
//! them (RFC 3810; RFC 2710 for older switches).

use super::IpProtocol;
use super::ipv6::Ipv6Header;
use std::net::Ipv6Addr;

/// Types of messages.
pub(super) const QUERY: u8 = 130;
const REPORT_1: u8 = 131;
const REPORT_2: u8 = 143;

/// Length of a query and of a report of the first version. Queries of the second version are longer.
const LEN_1: usize = 24;

/// The group of all routers that speak the second version.
const ROUTERS_2: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x16);

/// The options for every hop: the alert that makes routers look at the packet (RFC 2711), and padding.
const HOP_BY_HOP: [u8; 8] = [IpProtocol::ICMPV6.0, 0, 5, 2, 0, 0, 1, 0];

/// Types of the records of a report. Both say that the interface listens to the group, for any sender.
const MODE_IS_EXCLUDE: u8 = 2;
const CHANGE_TO_EXCLUDE: u8 = 4;

/// The versions of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    One,
    Two,
}

/// A query of a router.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListenerQuery {
    /// The group in question; the unspecified address stands for all groups.
    pub(crate) group: Ipv6Addr,
    pub(crate) version: Version,
}

/// The reason for a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The interface begins to listen.
    Begins,
    /// A router of this version asks.
    Asked(Version),
}

impl ListenerQuery {
    /// Parses the query in a whole ICMPv6 message behind `header`. Returns `None` unless a neighbour with a
    /// link-local address sent it (RFC 3810, section 5.1.14).
    pub(super) fn parse(bytes: &[u8], header: &Ipv6Header) -> Option<Self> {
        if header.hop_limit != 1 || !header.source.is_unicast_link_local() {
            return None;
        }
        let group: [u8; 16] = *bytes.get(8..)?.first_chunk()?;
        let version = if bytes.len() == LEN_1 { Version::One } else { Version::Two };
        Some(Self { group: group.into(), version })
    }
}

/// Returns the receivers of a report about `group`.
pub(crate) fn receivers(group: Ipv6Addr, reason: Reason) -> Ipv6Addr {
    if reason == Reason::Asked(Version::One) { group } else { ROUTERS_2 }
}

/// Writes the report of `source`, a link-local or the unspecified address, that it listens to `group`, and returns
/// the length.
pub(crate) fn emit_report(bytes: &mut [u8], source: Ipv6Addr, group: Ipv6Addr, reason: Reason) -> usize {
    let record = match reason {
        Reason::Begins => Some(CHANGE_TO_EXCLUDE),
        Reason::Asked(Version::Two) => Some(MODE_IS_EXCLUDE),
        Reason::Asked(Version::One) => None,
    };
    let mut message = [0; 8 + 4 + 16];
    let len = match record {
        Some(kind) => {
            message[0] = REPORT_2;
            message[7] = 1;
            message[8] = kind;
            message[12..28].copy_from_slice(&group.octets());
            28
        }
        None => {
            message[0] = REPORT_1;
            message[8..24].copy_from_slice(&group.octets());
            LEN_1
        }
    };
    let to = receivers(group, reason);
    let whole =
        Ipv6Header { hop_limit: 1, ..Ipv6Header::new(source, to, IpProtocol(0), HOP_BY_HOP.len() + len) };
    let at = whole.emit(bytes);
    bytes[at..at + HOP_BY_HOP.len()].copy_from_slice(&HOP_BY_HOP);
    let at = at + HOP_BY_HOP.len();
    Ipv6Header::new(source, to, IpProtocol::ICMPV6, len).seal_icmp(&mut message[..len]);
    bytes[at..at + len].copy_from_slice(&message[..len]);
    at + len
}
