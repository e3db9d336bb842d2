//! TCP headers (RFC 9293, section 3.1), as far as it takes to know whose a segment is.

use crate::checksum::Sum;
use crate::ipv4::Unread;

/// The length of a header without options.
const HEADER: usize = 20;

/// A header that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tcp {
    pub(crate) source: u16,
    pub(crate) destination: u16,
    /// It asks for a new connection: SYN without ACK.
    pub(crate) opens: bool,
}

impl Tcp {
    /// The header at the beginning of the packet's payload `bytes`. Where the checksum is to be looked at, `pseudo` is its
    /// part from the IP header.
    pub(crate) fn read(bytes: &[u8], pseudo: Option<Sum>) -> Result<Self, Unread> {
        const SYN: u8 = 0x02;
        const RST: u8 = 0x04;
        const ACK: u8 = 0x10;
        let Some(&[s0, s1, d0, d1, .., offset, flags, _, _, _, _, _, _]) = bytes.first_chunk::<HEADER>()
        else {
            return Err(Unread::Malformed);
        };
        let len = usize::from(offset >> 4) * 4;
        // A packet has at most 65,535 bytes.
        let whole = bytes.len() as u16;
        if len < HEADER || bytes.len() < len {
            return Err(Unread::Malformed);
        }
        if pseudo.is_some_and(|pseudo| !pseudo.and_number(whole).and(Sum::of(bytes)).is_right()) {
            return Err(Unread::Checksum);
        }
        Ok(Self {
            source: u16::from_be_bytes([s0, s1]),
            destination: u16::from_be_bytes([d0, d1]),
            opens: flags & (SYN | RST | ACK) == SYN,
        })
    }
}
