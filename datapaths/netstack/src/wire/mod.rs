//! Formats on the wire, a file for each protocol. The formats know bytes only: state is in
//! [`iface`](crate::iface).
//!
//! A header parses from the front of a slice, with every length checked, and emits itself to the front of a
//! slice. Padding may lie behind the parsed part.

pub(crate) mod arp;
pub(crate) mod checksum;
pub(crate) mod ecn;
pub(crate) mod ethernet;
pub(crate) mod icmpv4;
pub(crate) mod icmpv6;
pub(crate) mod ipv4;
pub(crate) mod ipv6;
pub(crate) mod ipv6_extensions;
pub(crate) mod mac;
pub(crate) mod mld;
pub(crate) mod quoted;
pub(crate) mod tcp;
pub(crate) mod udp;

/// The reason why a packet was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rejected {
    /// The packet is cut short, has a wrong length, or otherwise violates its protocol.
    Malformed,
    /// A checksum is wrong.
    Checksum,
    /// The packet is a fragment.
    Fragment,
    /// A part of the packet has to be understood, and is unknown.
    Unknown,
    /// A part of the packet has to be understood and is unknown, and its sender has to be told.
    Problem(ParameterProblem),
}

/// A part of a packet that is not understood, so that its sender has to be told (RFC 4443, section 3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ParameterProblem {
    pub(crate) code: u8,
    /// Offset of the part in the packet.
    pub(crate) pointer: usize,
    /// True if even a packet to a group is answered.
    pub(crate) to_group: bool,
}

impl ParameterProblem {
    /// Creates the problem of an unknown next header, whose number lies at this offset.
    pub(crate) fn next_header(pointer: usize) -> Self {
        Self { code: 1, pointer, to_group: false }
    }
}

/// The protocol of an IP packet's payload, in both versions of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IpProtocol(pub(crate) u8);

impl IpProtocol {
    pub(crate) const ICMP: Self = Self(1);
    pub(crate) const TCP: Self = Self(6);
    pub(crate) const UDP: Self = Self(17);
    pub(crate) const ICMPV6: Self = Self(58);
    /// No header and no payload follows (RFC 8200, section 4.7).
    pub(crate) const NONE: Self = Self(59);
}

/// Initial hop limit of packets of this stack (RFC 1700).
const HOP_LIMIT: u8 = 64;
