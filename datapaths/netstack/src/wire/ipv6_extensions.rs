//! The extension headers of IPv6 (RFC 8200, section 4).

use super::{IpProtocol, ParameterProblem, Rejected};

/// Largest number of extension headers in a packet.
const MAX_EXTENSIONS: usize = 8;

/// Numbers of the known headers.
const HOP_BY_HOP_OPTIONS: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const DESTINATION_OPTIONS: u8 = 60;

/// Options without a meaning here: padding (RFC 8200, section 4.2), and the alert for routers (RFC 2711).
const PAD_1: u8 = 0;
const PAD_N: u8 = 1;
const ROUTER_ALERT: u8 = 5;

/// The place behind all extension headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct End {
    pub(super) protocol: IpProtocol,
    /// Offset of the protocol's number.
    pub(super) named_at: usize,
    /// Length of all headers.
    pub(super) len: usize,
}

impl End {
    /// Walks over the extension headers of a whole packet, from the place behind the fixed header.
    ///
    /// A packet is rejected if it has a header or an option that has to be understood and is unknown. A
    /// fragment is rejected too, unless it is its whole packet (RFC 6946).
    pub(super) fn find(packet: &[u8], fixed: Self) -> Result<Self, Rejected> {
        let mut end = fixed;
        let mut rejected = None;
        for number in 0..=MAX_EXTENSIONS {
            let kind = end.protocol.0;
            match kind {
                HOP_BY_HOP_OPTIONS if number > 0 => break,
                HOP_BY_HOP_OPTIONS | ROUTING | FRAGMENT | DESTINATION_OPTIONS => {}
                _ => break,
            }
            if number == MAX_EXTENSIONS {
                return Err(Rejected::Malformed);
            }
            let Some(&[next, units]) = packet[end.len..].first_chunk() else {
                return Err(Rejected::Malformed);
            };
            let len = if kind == FRAGMENT { 8 } else { (usize::from(units) + 1) * 8 };
            let header = packet.get(end.len..end.len + len).ok_or(Rejected::Malformed)?;
            let checked = match kind {
                ROUTING => check_routing(header, end.len),
                FRAGMENT => check_fragment(header),
                _ => check_options(header, end.len),
            };
            match checked {
                Err(wrong @ (Rejected::Malformed | Rejected::Fragment)) => return Err(wrong),
                Err(wrong) => rejected = rejected.or(Some(wrong)),
                Ok(()) => {}
            }
            end = Self { protocol: IpProtocol(next), named_at: end.len, len: end.len + len };
        }
        match rejected {
            None => Ok(end),
            // No error is answered with an error (RFC 4443, section 2.4).
            Some(_)
                if end.protocol == IpProtocol::ICMPV6
                    && packet.get(end.len).is_none_or(|kind| *kind < 128) =>
            {
                Err(Rejected::Unknown)
            }
            Some(wrong) => Err(wrong),
        }
    }
}

/// Rejects a route with nodes that have yet to be visited: the packet is not for an end.
fn check_routing(header: &[u8], at: usize) -> Result<(), Rejected> {
    if header[3] == 0 {
        return Ok(());
    }
    Err(Rejected::Problem(ParameterProblem { code: 0, pointer: at + 2, to_group: false }))
}

/// Accepts a fragment with an offset of zero and no following fragment.
fn check_fragment(header: &[u8]) -> Result<(), Rejected> {
    let place = u16::from_be_bytes([header[2], header[3]]);
    if place & 0xfff9 == 0 { Ok(()) } else { Err(Rejected::Fragment) }
}

/// Checks options. The first two bits of an unknown option say what to do (RFC 8200, section 4.2).
fn check_options(header: &[u8], header_at: usize) -> Result<(), Rejected> {
    let mut at = 2;
    while let Some(&kind) = header.get(at) {
        if kind == PAD_1 {
            at += 1;
            continue;
        }
        let len = header.get(at + 1).map_or(header.len(), |len| usize::from(*len));
        if at + 2 + len > header.len() {
            return Err(Rejected::Malformed);
        }
        let problem = |to_group| {
            Err(Rejected::Problem(ParameterProblem { code: 2, pointer: header_at + at, to_group }))
        };
        match (kind, kind >> 6) {
            (PAD_N | ROUTER_ALERT, _) | (_, 0) => {}
            (_, 1) => return Err(Rejected::Unknown),
            (_, 2) => return problem(true),
            _ => return problem(false),
        }
        at += 2 + len;
    }
    Ok(())
}
