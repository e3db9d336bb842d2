//! TCP headers (RFC 9293, section 3.1), as far as it takes to find the connection of a segment.

use super::Rejected;
use super::checksum::Sum;

/// The length of a header without options.
const HEADER: usize = 20;

const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;

/// A header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TcpHeader {
    pub(crate) source: u16,
    pub(crate) destination: u16,
    /// The segment asks for a new connection: SYN without ACK.
    pub(crate) opens: bool,
}

impl TcpHeader {
    /// The header at the front of `bytes`, an IP packet's whole payload. The checksum is verified if `pseudo` has its part from the
    /// IP header.
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
