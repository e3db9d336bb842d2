//! The headers of messages, pieces and probes.
//!
//! A whole message has one byte, 0. A piece has a byte 1, then, little-endian: the number of its message (4 bytes), the
//! message's length (4), the piece's index (4), and the length of all pieces but the last (2).
//!
//! Two more kinds serve path discovery. A probe has a byte 2, its number (4), and any bytes behind the
//! number. Its acknowledgement has a byte 3 and the number.

use bertha_core::{Buf, Error};
use std::ops::Range;

/// The first byte of a whole message.
pub(super) const WHOLE: u8 = 0;

/// The first byte of a piece.
const PIECE: u8 = 1;

/// The first byte of a probe.
const PROBE: u8 = 2;

/// The first byte of the acknowledgement of a probe.
const PROBE_ACK: u8 = 3;

/// The bytes of kind and number of a probe or its acknowledgement.
pub(super) const PROBE_HEADER: usize = 5;

/// The bytes in front of a piece.
pub(super) const PIECE_HEADER: usize = 15;

/// Minimum length of a piece except the last piece of a message: it bounds the records of a message.
pub(super) const MIN_PIECE: usize = 64;

/// Maximum length of a piece: the length has two bytes.
pub(super) const MAX_PIECE: usize = u16::MAX as usize;

/// The header of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) message: u32,
    pub(super) length: u32,
    pub(super) index: u32,
    pub(super) size: u16,
}

/// A decoded message from below, without its header.
#[derive(Debug)]
pub(super) enum Arrived {
    Whole(Buf),
    Piece(Piece, Buf),
    /// A probe with this number.
    Probe(u32),
    /// The acknowledgement of the probe with this number.
    ProbeAck(u32),
}

impl Piece {
    pub(super) fn encode(self, header: &mut [u8; PIECE_HEADER]) {
        header[0] = PIECE;
        header[1..5].copy_from_slice(&self.message.to_le_bytes());
        header[5..9].copy_from_slice(&self.length.to_le_bytes());
        header[9..13].copy_from_slice(&self.index.to_le_bytes());
        header[13..].copy_from_slice(&self.size.to_le_bytes());
    }

    fn decode(header: &[u8; PIECE_HEADER]) -> Self {
        let [_, a, b, c, d, e, f, g, h, i, j, k, l, m, n] = *header;
        Self {
            message: u32::from_le_bytes([a, b, c, d]),
            length: u32::from_le_bytes([e, f, g, h]),
            index: u32::from_le_bytes([i, j, k, l]),
            size: u16::from_le_bytes([m, n]),
        }
    }

    /// Returns the number of pieces of the message.
    pub(super) fn count(&self) -> u32 {
        self.length.div_ceil(u32::from(self.size).max(1))
    }

    /// Returns the range of bytes of the message that the piece holds, if the message has such a piece.
    pub(super) fn range(&self) -> Option<Range<usize>> {
        let size = usize::from(self.size);
        let start = size.checked_mul(self.index as usize)?;
        let left = (self.length as usize).checked_sub(start).filter(|left| *left > 0)?;
        (size >= MIN_PIECE).then(|| start..start + left.min(size))
    }
}

/// Decodes a message from below; `None` if it is malformed.
pub(super) fn decode(mut bytes: Buf) -> Option<Arrived> {
    match *bytes.first()? {
        WHOLE => {
            bytes.advance(1).ok()?;
            Some(Arrived::Whole(bytes))
        }
        PIECE => {
            let piece = Piece::decode(bytes.first_chunk()?);
            bytes.advance(PIECE_HEADER).ok()?;
            Some(Arrived::Piece(piece, bytes))
        }
        PROBE => probe_number(&bytes).map(Arrived::Probe),
        PROBE_ACK => probe_number(&bytes).map(Arrived::ProbeAck),
        _ => None,
    }
}

fn probe_number(bytes: &[u8]) -> Option<u32> {
    let [_, a, b, c, d] = *bytes.first_chunk()?;
    Some(u32::from_le_bytes([a, b, c, d]))
}

/// Makes a probe of `len` bytes in all, at least its header, with `headroom` for the layers below.
pub(super) fn probe(number: u32, len: usize, headroom: usize) -> Result<Buf, Error> {
    let mut message = Buf::new(len.max(PROBE_HEADER), headroom)?;
    message.fill(0);
    encode_probe(&mut message, PROBE, number);
    Ok(message)
}

/// Makes the acknowledgement of a probe.
pub(super) fn probe_ack(number: u32, headroom: usize) -> Result<Buf, Error> {
    let mut message = Buf::new(PROBE_HEADER, headroom)?;
    encode_probe(&mut message, PROBE_ACK, number);
    Ok(message)
}

fn encode_probe(message: &mut [u8], kind: u8, number: u32) {
    if let Some((head, rest)) = message.split_first_mut() {
        *head = kind;
        rest[..4].copy_from_slice(&number.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_and_their_acknowledgements_carry_their_number() {
        let probe = probe(0x0102_0304, 9, 3).unwrap();
        assert_eq!((&probe[..], probe.headroom() >= 3), (&[2, 4, 3, 2, 1, 0, 0, 0, 0][..], true));
        assert!(matches!(decode(probe), Some(Arrived::Probe(0x0102_0304))));
        let ack = probe_ack(0x0102_0304, 3).unwrap();
        assert_eq!((&ack[..], ack.headroom() >= 3), (&[3, 4, 3, 2, 1][..], true));
        assert!(matches!(decode(ack), Some(Arrived::ProbeAck(0x0102_0304))));
        assert_eq!(super::probe(7, 0, 0).unwrap().len(), PROBE_HEADER);
    }
}
