//! Explicit congestion notification in the headers of IP (RFC 3168): two bits of the type of service, or of the traffic class.

use super::ethernet::{EtherType, EthernetHeader};

/// The field of a packet that may be marked, ECT(0).
const CAPABLE: u8 = 0b10;

/// The field of a packet that a router has marked, CE.
const MARKED: u8 = 0b11;

/// Position of the field in the second byte of an IPv6 header.
const V6_SHIFT: u32 = 4;

/// Returns true if a router marked the IP packet in this frame for congestion. Returns false for any other
/// frame.
pub fn is_marked(frame: &[u8]) -> bool {
    let Some((link, at)) = EthernetHeader::parse(frame) else { return false };
    match (link.ethertype, frame.get(at + 1)) {
        (EtherType::IPV4, Some(service)) => service & MARKED == MARKED,
        (EtherType::IPV6, Some(class)) => class >> V6_SHIFT & MARKED == MARKED,
        _ => false,
    }
}

/// Permits routers to mark the packet behind this IP header. The header's checksum has to be computed after
/// that.
pub(crate) fn allow(header: &mut [u8], is_v4: bool) {
    let shift = if is_v4 { 0 } else { V6_SHIFT };
    header[1] = header[1] & !(MARKED << shift) | CAPABLE << shift;
}
