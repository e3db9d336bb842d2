//! Packets in pieces: how one is cut, and how it is put together.

use crate::reliable::wire::{self, Check, Piece};
use bertha_core::{Buf, Error};
use std::collections::VecDeque;

/// The packets that wait for more of their pieces, at most.
const MAX_PACKETS: usize = 64;

/// The bytes of their pieces, at most.
const MAX_BYTES: usize = 256 * 1024;

/// A packet that leaves in pieces.
#[derive(Debug)]
pub(super) struct Cut {
    number: u64,
    packet: Buf,
    /// The bytes of the packet in each piece but the last.
    content: usize,
    count: u8,
    next: u8,
}

impl Cut {
    /// Cuts a packet into pieces of at most `len` bytes each and about equal length; gives it back if it would be too many.
    pub(super) fn new(number: u64, packet: Buf, len: usize) -> Result<Self, Buf> {
        let count = packet.len().div_ceil(wire::room(len).max(1));
        match u8::try_from(count) {
            Ok(count) => {
                let content = packet.len().div_ceil(usize::from(count));
                Ok(Self { number, packet, content, count, next: 0 })
            }
            Err(_) => Err(packet),
        }
    }

    /// Returns the next piece, in a buffer that `make` allocates. Without a buffer it stays the next.
    pub(super) fn next(
        &mut self,
        check: Check,
        make: impl FnOnce(usize) -> Result<Buf, Error>,
    ) -> Result<Buf, Error> {
        let from = usize::from(self.next) * self.content;
        let content = &self.packet[from..self.packet.len().min(from + self.content)];
        let mut piece = make(wire::piece_size(check, self.number, content.len()))?;
        wire::write_piece(check, self.number, self.next, self.count, content, &mut piece);
        self.next += 1;
        Ok(piece)
    }

    /// Returns true if all pieces have left.
    pub(super) fn is_over(&self) -> bool {
        self.next == self.count
    }
}

/// The pieces that have arrived of packets that are not complete.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    packets: VecDeque<Partial>,
    bytes: usize,
}

#[derive(Debug)]
struct Partial {
    number: u64,
    pieces: Vec<Option<Buf>>,
    missing: usize,
    bytes: usize,
}

impl Assembly {
    /// Takes in a piece, which lies in this datagram. Returns the packet that it completes. The oldest packets give way to new ones: theirs
    /// are lost, and repeated.
    pub(super) fn insert(&mut self, piece: &Piece, mut datagram: Buf) -> Option<Buf> {
        let count = usize::from(piece.count);
        let place = self.packets.iter().position(|it| it.number == piece.packet);
        let place = place.unwrap_or_else(|| {
            let pieces = (0..count).map(|_| None).collect();
            self.packets.push_back(Partial { number: piece.packet, pieces, missing: count, bytes: 0 });
            self.packets.len() - 1
        });
        let partial = self.packets.get_mut(place)?;
        let slot = partial.pieces.get_mut(usize::from(piece.at)).filter(|slot| slot.is_none())?;
        datagram.advance(piece.bytes.start).ok()?;
        partial.bytes += datagram.len();
        self.bytes += datagram.len();
        // A datagram may lie in a large buffer of the datapath, which is needed for others.
        *slot = Some(datagram.kept());
        partial.missing -= 1;
        if partial.missing == 0 {
            return self.take(place);
        }
        while self.packets.len() > MAX_PACKETS || self.bytes > MAX_BYTES {
            self.bytes -= self.packets.pop_front()?.bytes;
        }
        None
    }

    fn take(&mut self, place: usize) -> Option<Buf> {
        let Partial { pieces, bytes, .. } = self.packets.remove(place)?;
        self.bytes -= bytes;
        let mut packet = Buf::new(bytes, 0).ok()?;
        let mut at = 0;
        for piece in pieces.into_iter().flatten() {
            packet[at..at + piece.len()].copy_from_slice(&piece);
            at += piece.len();
        }
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(len: usize) -> Buf {
        let mut packet = Buf::new(len, 0).unwrap();
        packet.iter_mut().enumerate().for_each(|(at, byte)| *byte = (at % 251) as u8);
        packet
    }

    fn cut(number: u64, len: usize) -> Vec<Buf> {
        let mut cut = Cut::new(number, packet(len), 1_200).unwrap();
        let mut pieces = Vec::new();
        while !cut.is_over() {
            pieces.push(cut.next(Check::Crc, |len| Buf::new(len, 0)).unwrap());
            assert!(pieces.last().unwrap().len() <= 1_200);
        }
        pieces
    }

    fn insert(assembly: &mut Assembly, datagram: &[u8]) -> Option<Buf> {
        let piece = wire::decode_piece(datagram, Check::Crc).unwrap();
        assembly.insert(&piece, Buf::copy_of(datagram, 0).unwrap())
    }

    #[test]
    fn pieces_make_the_packet_in_any_order_and_once() {
        for len in [1, 1_200, 1_425, 65_535] {
            let mut assembly = Assembly::default();
            let pieces = cut(len as u64, len);
            for piece in pieces[1..].iter().rev().chain(&pieces[1..]) {
                assert!(insert(&mut assembly, piece).is_none());
            }
            assert_eq!(*insert(&mut assembly, &pieces[0]).unwrap(), *packet(len));
            assert_eq!((assembly.packets.len(), assembly.bytes), (0, 0));
        }
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut assembly = Assembly::default();
        for number in 0..1_000 {
            assert!(insert(&mut assembly, &cut(number, 60_000)[0]).is_none());
            assert!(assembly.packets.len() <= MAX_PACKETS && assembly.bytes <= MAX_BYTES);
        }
        // The newest is still complete in the end.
        let pieces = cut(999, 60_000);
        let last = pieces[1..].iter().filter_map(|piece| insert(&mut assembly, piece)).next();
        assert_eq!(*last.unwrap(), *packet(60_000));
    }

    #[test]
    fn a_piece_without_a_buffer_leaves_later() {
        let mut cut = Cut::new(1, packet(2_000), 1_200).unwrap();
        let none = |_| Err(Error::new(bertha_core::ErrorKind::Exhausted, "no buffer"));
        assert!(cut.next(Check::Crc, none).is_err());
        assert_eq!(
            wire::decode_piece(&cut.next(Check::Crc, |len| Buf::new(len, 0)).unwrap(), Check::Crc)
                .unwrap()
                .at,
            0
        );
    }

    #[test]
    fn a_packet_has_at_most_255_pieces() {
        let room = wire::room(1_200);
        assert_eq!(Cut::new(1, packet(255 * room), 1_200).unwrap().count, 255);
        assert_eq!(Cut::new(1, packet(255 * room + 1), 1_200).unwrap_err().len(), 255 * room + 1);
    }

    #[test]
    fn large_pieces_are_bounded_by_their_bytes_and_the_newest_packet_stays() {
        let mut assembly = Assembly::default();
        let first = |number| {
            let mut cut = Cut::new(number, packet(60_000), 32_000).unwrap();
            [(); 2].map(|()| cut.next(Check::Crc, |len| Buf::new(len, 0)).unwrap())
        };
        for number in 0..40 {
            assert!(insert(&mut assembly, &first(number)[0]).is_none());
            // 30,000 bytes of each packet have arrived.
            let kept = (number as usize + 1).min(MAX_BYTES / 30_000);
            assert_eq!((assembly.packets.len(), assembly.bytes), (kept, kept * 30_000));
        }
        assert_eq!(*insert(&mut assembly, &first(39)[1]).unwrap(), *packet(60_000));
        assert_eq!((assembly.packets.len(), assembly.bytes), (7, 7 * 30_000));
    }

    #[test]
    fn as_many_packets_wait_as_the_bound_says() {
        let mut assembly = Assembly::default();
        let firsts: Vec<_> = (0..MAX_PACKETS as u64 + 1).map(|number| cut(number, 2_000)).collect();
        for (at, pieces) in firsts.iter().enumerate() {
            assert!(insert(&mut assembly, &pieces[0]).is_none());
            assert_eq!(assembly.packets.len(), (at + 1).min(MAX_PACKETS));
        }
        assert!(insert(&mut assembly, &firsts[1][1]).is_some(), "the oldest one alone has gone");
    }
}
