//! What stands in front of messages and pieces.
//!
//! A whole message has one byte, 0. A piece has a byte 1, then, little-endian: the number of its message (4 bytes), the
//! message's length (4), the piece's place among the pieces (4), and how long all pieces but the last are (2).
//!
//! Two more kinds find out what the path carries. A probe has a byte 2, its number (4), and anything behind it. Word that it
//! arrived has a byte 3 and that number.

use bertha_core::{Buf, Error};

/// In front of a whole message.
pub(super) const WHOLE: u8 = 0;

/// In front of a piece.
const PIECE: u8 = 1;

/// In front of a probe of the path.
const PROBE: u8 = 2;

/// In front of the word that a probe arrived.
const WORD: u8 = 3;

/// The kind and the number of a probe, or of the word of it.
pub(super) const PROBE_HEADER: usize = 5;

/// The bytes in front of a piece.
pub(super) const PIECE_HEADER: usize = 15;

/// The shortest piece, but for the last one of a message: bounds how many records a message needs.
pub(super) const LEAST_PIECE: usize = 64;

/// The longest piece: its length has two bytes.
pub(super) const MOST_PIECE: usize = u16::MAX as usize;

/// Where a piece belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) message: u32,
    pub(super) length: u32,
    pub(super) place: u32,
    pub(super) size: u16,
}

/// What has arrived, without what stood in front of it.
#[derive(Debug)]
pub(super) enum Arrived {
    Whole(Buf),
    Piece(Piece, Buf),
    /// A probe with this number.
    Probe(u32),
    /// Word of the probe with this number.
    Word(u32),
}

impl Piece {
    pub(super) fn write(self, header: &mut [u8; PIECE_HEADER]) {
        header[0] = PIECE;
        header[1..5].copy_from_slice(&self.message.to_le_bytes());
        header[5..9].copy_from_slice(&self.length.to_le_bytes());
        header[9..13].copy_from_slice(&self.place.to_le_bytes());
        header[13..].copy_from_slice(&self.size.to_le_bytes());
    }

    fn read(header: &[u8; PIECE_HEADER]) -> Self {
        let [_, a, b, c, d, e, f, g, h, i, j, k, l, m, n] = *header;
        Self {
            message: u32::from_le_bytes([a, b, c, d]),
            length: u32::from_le_bytes([e, f, g, h]),
            place: u32::from_le_bytes([i, j, k, l]),
            size: u16::from_le_bytes([m, n]),
        }
    }

    /// How many pieces the message has.
    pub(super) fn count(&self) -> u32 {
        self.length.div_ceil(u32::from(self.size).max(1))
    }

    /// Where the piece begins in the message, and how long it is, if the message has such a piece.
    pub(super) fn extent(&self) -> Option<(usize, usize)> {
        let size = usize::from(self.size);
        let start = size.checked_mul(self.place as usize)?;
        let left = (self.length as usize).checked_sub(start).filter(|left| *left > 0)?;
        (size >= LEAST_PIECE).then_some((start, left.min(size)))
    }
}

/// What `bytes` are, or `None` if they are neither.
pub(super) fn read(mut bytes: Buf) -> Option<Arrived> {
    match *bytes.first()? {
        WHOLE => {
            bytes.advance(1).ok()?;
            Some(Arrived::Whole(bytes))
        }
        PIECE => {
            let piece = Piece::read(bytes.first_chunk()?);
            bytes.advance(PIECE_HEADER).ok()?;
            Some(Arrived::Piece(piece, bytes))
        }
        PROBE => numbered(&bytes).map(Arrived::Probe),
        WORD => numbered(&bytes).map(Arrived::Word),
        _ => None,
    }
}

fn numbered(bytes: &[u8]) -> Option<u32> {
    let [_, a, b, c, d] = *bytes.first_chunk()?;
    Some(u32::from_le_bytes([a, b, c, d]))
}

/// A probe of `len` bytes in all, at least its header; `headroom` is what the layers below put in front of it.
pub(super) fn probe(number: u32, len: usize, headroom: usize) -> Result<Buf, Error> {
    let mut message = Buf::new(len.max(PROBE_HEADER), headroom)?;
    message.fill(0);
    label(&mut message, PROBE, number);
    Ok(message)
}

/// Word of a probe.
pub(super) fn word(number: u32, headroom: usize) -> Result<Buf, Error> {
    let mut message = Buf::new(PROBE_HEADER, headroom)?;
    label(&mut message, WORD, number);
    Ok(message)
}

fn label(message: &mut [u8], kind: u8, number: u32) {
    if let Some((head, rest)) = message.split_first_mut() {
        *head = kind;
        rest[..4].copy_from_slice(&number.to_le_bytes());
    }
}
