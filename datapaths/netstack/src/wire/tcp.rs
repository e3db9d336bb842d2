//! TCP headers (RFC 9293, section 3.1), as far as needed to find the connection of a segment, or to refuse a
//! segment.

use super::Rejected;
use super::checksum::Sum;

/// Length of a header without options.
pub(crate) const HEADER: usize = 20;

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;

/// A TCP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TcpHeader {
    pub(crate) source: u16,
    pub(crate) destination: u16,
    /// True if the segment asks for a new connection: SYN without ACK.
    pub(crate) opens: bool,
}

impl TcpHeader {
    /// Parses the header at the front of `bytes`, an IP packet's whole payload. The checksum is verified if
    /// `pseudo` has its part from the IP header.
    pub(crate) fn parse(bytes: &[u8], pseudo: Option<Sum>) -> Result<Self, Rejected> {
        let Some(&[s0, s1, d0, d1, .., offset, flags, _, _, _, _, _, _]) = bytes.first_chunk::<HEADER>()
        else {
            return Err(Rejected::Malformed);
        };
        let len = usize::from(offset >> 4) * 4;
        if len < HEADER || bytes.len() < len {
            return Err(Rejected::Malformed);
        }
        // A packet has at most 65,535 bytes.
        let segment = bytes.len() as u16;
        if pseudo.is_some_and(|pseudo| !pseudo.and_number(segment).and(Sum::of(bytes)).is_valid()) {
            return Err(Rejected::Checksum);
        }
        Ok(Self {
            source: u16::from_be_bytes([s0, s1]),
            destination: u16::from_be_bytes([d0, d1]),
            opens: flags & (SYN | RST | ACK) == SYN,
        })
    }
}

/// Writes the reset for `segment`, which belongs to no connection (RFC 9293, section 3.10.7.1), to the front
/// of `bytes`. Returns false if the segment is a reset itself. `pseudo` is the reset's part of the checksum
/// from the IP header.
pub(crate) fn emit_reset(bytes: &mut [u8], segment: &[u8], pseudo: Sum) -> bool {
    let Some(&[s0, s1, d0, d1, q0, q1, q2, q3, a0, a1, a2, a3, offset, flags, ..]) =
        segment.first_chunk::<HEADER>()
    else {
        return false;
    };
    if flags & RST != 0 {
        return false;
    }
    let (sequence, acknowledged, answer) = if flags & ACK != 0 {
        ([a0, a1, a2, a3], [0; 4], RST)
    } else {
        let data = segment.len().saturating_sub(usize::from(offset >> 4) * 4) as u32;
        let len = data + u32::from(flags & SYN != 0) + u32::from(flags & FIN != 0);
        let end = u32::from_be_bytes([q0, q1, q2, q3]).wrapping_add(len);
        ([0; 4], end.to_be_bytes(), RST | ACK)
    };
    let reset = &mut bytes[..HEADER];
    reset.fill(0);
    reset[..4].copy_from_slice(&[d0, d1, s0, s1]);
    reset[4..8].copy_from_slice(&sequence);
    reset[8..12].copy_from_slice(&acknowledged);
    reset[12] = (HEADER as u8 / 4) << 4;
    reset[13] = answer;
    let checksum = pseudo.and_number(HEADER as u16).and(Sum::of(reset)).checksum();
    reset[16..18].copy_from_slice(&checksum);
    true
}
