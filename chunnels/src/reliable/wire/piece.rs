//! Pieces of packets, for paths that lose large datagrams.

use super::Check;
use super::packet::{FIXED, PIECE};
use super::reader::Reader;
use super::varint::{self, size};
use std::ops::Range;

/// The longest header of a piece.
const LONGEST_HEADER: usize = 4 + FIXED + 8 + 2;

/// A piece of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The number of the packet among those that were cut.
    pub packet: u64,
    /// The place of the piece, from zero.
    pub at: u8,
    /// The number of pieces.
    pub count: u8,
    /// The position of the piece's bytes in the datagram.
    pub bytes: Range<usize>,
}

/// Returns the bytes of a packet that a piece of `len` bytes holds at least.
pub(in crate::reliable) fn room(len: usize) -> usize {
    len.saturating_sub(LONGEST_HEADER)
}

/// Returns the bytes of a piece with `content` of its packet.
pub(in crate::reliable) fn piece_size(check: Check, packet: u64, content: usize) -> usize {
    check.len() + FIXED + size(packet) + 2 + content
}

/// Writes a piece. `into` must have the length that it fills.
pub(in crate::reliable) fn write_piece(
    check: Check,
    packet: u64,
    at: u8,
    count: u8,
    content: &[u8],
    into: &mut [u8],
) {
    let number = size(packet);
    let body = &mut into[check.len()..];
    body[0] = PIECE;
    body[FIXED..FIXED + number].copy_from_slice(&varint::encode(packet)[..number]);
    body[FIXED + number..FIXED + number + 2].copy_from_slice(&[at, count]);
    body[FIXED + number + 2..].copy_from_slice(content);
    check.put(into);
}

/// Decodes a piece; `None` if the datagram is none, or is damaged or malformed.
pub fn decode_piece(datagram: &[u8], check: Check) -> Option<Piece> {
    // The check is computed only for what looks like a piece.
    if *datagram.get(check.len())? != PIECE || !check.holds(datagram) {
        return None;
    }
    let mut reader = Reader::new(datagram, check.len() + FIXED);
    let packet = reader.varint()?;
    let at = reader.byte()?;
    let count = reader.byte()?;
    let bytes = reader.position()..datagram.len();
    (at < count && !bytes.is_empty()).then_some(Piece { packet, at, count, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_survive_and_damage_does_not_go_unnoticed() {
        for check in [Check::Crc, Check::Below] {
            for packet in [0, 63, 64, 20_000, 1 << 40] {
                let mut datagram = vec![0; piece_size(check, packet, 100)];
                assert!(datagram.len() <= 100 + LONGEST_HEADER && room(datagram.len()) <= 100);
                write_piece(check, packet, 1, 3, &[7; 100], &mut datagram);
                let bytes = datagram.len() - 100..datagram.len();
                let piece = Piece { packet, at: 1, count: 3, bytes };
                assert_eq!(decode_piece(&datagram, check), Some(piece));
                assert_eq!(super::super::decode(&datagram, check), None, "it is no packet");
                for len in 0..datagram.len() - 100 {
                    assert_eq!(decode_piece(&datagram[..len], check), None);
                }
            }
        }
        let mut datagram = vec![0; piece_size(Check::Crc, 1, 5)];
        write_piece(Check::Crc, 1, 0, 2, &[7; 5], &mut datagram);
        datagram[8] ^= 1;
        assert_eq!(decode_piece(&datagram, Check::Crc), None);
    }
}
