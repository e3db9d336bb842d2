//! Formats on the wire, one file for each protocol. They know bytes alone: state is in [`iface`](crate::iface).
//!
//! A header parses from the front of a slice, with every length checked, and emits itself to the front of one. Behind what is parsed
//! padding may lie.

pub(crate) mod arp;
pub(crate) mod checksum;
pub(crate) mod ethernet;
pub(crate) mod icmpv4;
pub(crate) mod icmpv6;
pub(crate) mod ipv4;
pub(crate) mod ipv6;
pub(crate) mod mac;
pub(crate) mod quoted;
pub(crate) mod tcp;
pub(crate) mod udp;

/// Why a packet was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rejected {
    /// Cut short, with a wrong length, or otherwise not as its protocol has it.
    Malformed,
    /// With a wrong checksum.
    Checksum,
    /// A part of a fragmented packet.
    Fragment,
}

/// The protocol of an IP packet's payload, in both versions of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IpProtocol(pub(crate) u8);

impl IpProtocol {
    pub(crate) const ICMP: Self = Self(1);
    pub(crate) const TCP: Self = Self(6);
    pub(crate) const UDP: Self = Self(17);
    pub(crate) const ICMPV6: Self = Self(58);
}

/// The initial hop limit of packets of this stack (RFC 1700).
const HOP_LIMIT: u8 = 64;
