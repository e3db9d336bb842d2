//! The reassembly of messages, without I/O.

use super::piece::Piece;
use bertha_core::Buf;
use std::collections::BTreeMap;
use std::fmt;

/// The bytes that an incomplete message counts besides its own and its bitmap.
const RECORD: usize = 512;

/// The incomplete messages of a connection.
#[derive(Debug)]
pub(super) struct Assembly {
    messages: BTreeMap<u32, Partial>,
    /// The largest message.
    limit: u32,
    /// The bytes that all may occupy.
    budget: usize,
    occupied: usize,
    /// The number of messages begun so far.
    begun: u64,
    /// The number of messages that were evicted.
    pub(super) abandoned: u64,
}

#[derive(Debug)]
struct Partial {
    message: Buf,
    size: u16,
    missing: u32,
    /// A bit for each piece that has arrived.
    arrived: Box<[u64]>,
    /// The number of messages begun before it.
    age: u64,
}

/// A violation of the protocol by the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Contradiction {
    /// The message exceeds the limit.
    Limit,
    /// The message has no such piece, or a piece of another length.
    Extent,
    /// Another piece of the message has another length of message or pieces.
    Shape,
    /// The piece arrived before with other content.
    Content,
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Limit => "the message exceeds the limit that was agreed on",
            Self::Extent => "a piece has a length or an index that its message does not allow",
            Self::Shape => "two pieces of one message differ about its length or its pieces",
            Self::Content => "a piece came twice with different contents",
        })
    }
}

impl Assembly {
    /// Reassembles messages of up to `limit` bytes, in three times that and `spare` bytes of memory.
    pub(super) fn new(limit: u32, spare: usize) -> Self {
        // Enough for the message that is being sent, one before it that lacks a piece, and records.
        let budget = 3 * limit as usize + 64 * 1024 + spare;
        Self { messages: BTreeMap::new(), limit, budget, occupied: 0, begun: 0, abandoned: 0 }
    }

    /// Inserts a piece, and returns the message that it completes, if any.
    ///
    /// # Errors
    /// A [`Contradiction`] of the piece with itself or another.
    pub(super) fn insert(&mut self, piece: Piece, bytes: &[u8]) -> Result<Option<Buf>, Contradiction> {
        if piece.length > self.limit {
            return Err(Contradiction::Limit);
        }
        let range = piece.range().filter(|range| range.len() == bytes.len()).ok_or(Contradiction::Extent)?;
        if !self.messages.contains_key(&piece.message) {
            self.begin(piece);
        }
        let Some(partial) = self.messages.get_mut(&piece.message) else { return Ok(None) };
        if partial.message.len() != piece.length as usize || partial.size != piece.size {
            return Err(Contradiction::Shape);
        }
        let target = &mut partial.message[range];
        let (word, bit) = (piece.index as usize / 64, 1 << (piece.index % 64));
        if partial.arrived[word] & bit != 0 {
            return if target == bytes { Ok(None) } else { Err(Contradiction::Content) };
        }
        partial.arrived[word] |= bit;
        target.copy_from_slice(bytes);
        partial.missing -= 1;
        if partial.missing > 0 {
            return Ok(None);
        }
        Ok(self.remove(piece.message).map(|partial| partial.message))
    }

    /// Begins a message, and evicts the oldest ones where it needs their memory. Without memory it is not begun.
    fn begin(&mut self, piece: Piece) {
        let words = piece.count().div_ceil(64) as usize;
        let size = cost(piece.length as usize, words);
        while self.occupied + size > self.budget {
            let oldest = self.messages.iter().min_by_key(|(_, partial)| partial.age);
            let Some(oldest) = oldest.map(|(number, _)| *number) else { break };
            self.remove(oldest);
            self.abandoned += 1;
        }
        let Ok(message) = Buf::new(piece.length as usize, 0) else { return };
        let arrived = vec![0; words].into();
        let partial = Partial { message, size: piece.size, missing: piece.count(), arrived, age: self.begun };
        self.begun += 1;
        self.occupied += size;
        self.messages.insert(piece.message, partial);
    }

    fn remove(&mut self, message: u32) -> Option<Partial> {
        let partial = self.messages.remove(&message)?;
        self.occupied -= cost(partial.message.len(), partial.arrived.len());
        Some(partial)
    }
}

fn cost(length: usize, words: usize) -> usize {
    length + 8 * words + RECORD
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pieces(message: u32, bytes: &[u8], size: u16) -> Vec<(Piece, Vec<u8>)> {
        let of = |index| Piece { message, length: bytes.len() as u32, index, size };
        (0..of(0).count()).map(|index| (of(index), bytes[of(index).range().unwrap()].to_vec())).collect()
    }

    proptest! {
        #[test]
        fn pieces_in_any_order_and_number_make_the_message_once(
            bytes in prop::collection::vec(any::<u8>(), 1..2000),
            size in 64..500_u16,
            dice in prop::collection::vec(any::<prop::sample::Index>(), 0..200),
        ) {
            let pieces = pieces(7, &bytes, size);
            let mut assembly = Assembly::new(4096, 0);
            let mut made = Vec::new();
            // All but the last, in any order and number, then all in order.
            let some = dice.iter().map(|at| &pieces[at.index(pieces.len())]).filter(|(piece, _)| piece.index > 0);
            for (piece, content) in some.chain(&pieces) {
                if made.is_empty() {
                    made.extend(assembly.insert(*piece, content).unwrap());
                }
            }
            prop_assert_eq!(made.len(), 1);
            prop_assert_eq!(&made[0][..], &bytes[..]);
            prop_assert_eq!(assembly.occupied, 0);
        }

        #[test]
        fn no_piece_panics_and_memory_is_bounded(
            hostile in prop::collection::vec(
                (0..9_u32, any::<u32>(), any::<u32>(), any::<u16>(), 0..300_usize), 0..200),
        ) {
            let mut assembly = Assembly::new(10_000, 5_000);
            for (message, length, index, size, len) in hostile {
                let piece = Piece { message, length: length % 12_000, index: index % 80, size: size % 300 };
                let len = piece.range().map_or(len, |range| range.len());
                let _ = assembly.insert(piece, &vec![0; len]);
                prop_assert!(assembly.occupied <= assembly.budget);
                let held = assembly.messages.values().map(|partial| cost(partial.message.len(), partial.arrived.len()));
                prop_assert_eq!(held.sum::<usize>(), assembly.occupied);
            }
        }
    }

    #[test]
    fn contradictions_are_found_and_repetitions_are_none() {
        let mut assembly = Assembly::new(1000, 0);
        let piece = Piece { message: 1, length: 300, index: 1, size: 100 };
        assert!(assembly.insert(piece, &[1; 100]).unwrap().is_none());
        assert!(assembly.insert(piece, &[1; 100]).unwrap().is_none());
        let cases: [(Piece, &[u8], Contradiction); 6] = [
            (piece, &[2; 100], Contradiction::Content),
            (Piece { length: 301, ..piece }, &[1; 100], Contradiction::Shape),
            (Piece { size: 110, ..piece }, &[1; 110], Contradiction::Shape),
            (piece, &[1; 99], Contradiction::Extent),
            (Piece { index: 3, ..piece }, &[], Contradiction::Extent),
            (Piece { length: 1001, ..piece }, &[1; 100], Contradiction::Limit),
        ];
        for (piece, bytes, expected) in cases {
            assert_eq!(assembly.insert(piece, bytes).unwrap_err(), expected, "{piece:?}");
        }
        // Pieces that are too short would need more records than bytes.
        let tiny = Piece { message: 2, length: 300, index: 0, size: 1 };
        assert_eq!(assembly.insert(tiny, &[1]).unwrap_err(), Contradiction::Extent);
    }

    #[cfg(feature = "reliable")]
    #[test]
    fn what_lacks_a_piece_is_kept_until_all_that_may_overtake_it_has_come() {
        // As above a Reliable that repeats the first piece of each message once its buffer is full of later ones.
        let max = crate::reliable::settings::Settings::default().messages;
        let each = pieces(0, &[7; 65_000], 1_300);
        let mut assembly = Assembly::new(65_000, super::super::settings::ASSEMBLY);
        let messages = (max / each.len()) as u32;
        for message in 0..messages {
            for (piece, bytes) in &each[1..] {
                assert!(assembly.insert(Piece { message, ..*piece }, bytes).unwrap().is_none());
            }
        }
        let (piece, bytes) = &each[0];
        for message in 0..messages {
            assert!(assembly.insert(Piece { message, ..*piece }, bytes).unwrap().is_some(), "{message}");
        }
        assert_eq!((assembly.abandoned, assembly.occupied), (0, 0));
    }

    #[test]
    fn the_oldest_makes_room() {
        let mut assembly = Assembly::new(100_000, 0);
        for message in 0..10 {
            let piece = Piece { message, length: 100_000, index: 0, size: 100 };
            assert!(assembly.insert(piece, &[0; 100]).unwrap().is_none());
        }
        assert_eq!((assembly.abandoned, assembly.messages.len()), (7, 3));
        assert!(assembly.messages.keys().eq(&[7, 8, 9]));
    }
}
