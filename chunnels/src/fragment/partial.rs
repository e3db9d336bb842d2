//! One incomplete message.

use super::age::Age;
use super::piece::Piece;
use bertha_core::Buf;
use std::collections::BTreeMap;
use std::time::Instant;

/// Number of bytes that an incomplete message costs besides its content and its bitmap.
const RECORD: usize = 512;

/// Maximum length of a message that gets its memory with its first piece, in bytes. A peer has to send a
/// sixteenth of a longer message first.
const SHORT: usize = 64 * 1024;

/// The divisor of the part of a longer message that has to arrive before the message gets its memory.
const EARNEST: usize = 16;

#[derive(Debug)]
pub(super) struct Partial {
    length: u32,
    size: u16,
    /// The number of pieces that have not arrived.
    missing: u32,
    content: Content,
    /// The pieces with receipts, which have the fate of the message.
    received: Vec<Buf>,
    /// Number of bytes that the message costs.
    pub(super) cost: usize,
    pub(super) age: Age,
    /// The time at which the message began, or was last found to be active.
    pub(super) since: Instant,
    /// True if a piece has arrived since `since`.
    pub(super) is_active: bool,
}

#[derive(Debug)]
enum Content {
    /// Copies of the first few pieces of a long message, by index.
    Few { pieces: BTreeMap<u32, Box<[u8]>>, bytes: usize },
    /// The message, and a bit for each piece that has arrived.
    Room { message: Buf, arrived: Box<[u64]> },
}

impl Partial {
    /// Returns the number of bytes that the message of `piece` costs from its beginning on.
    pub(super) fn first_cost(piece: Piece) -> usize {
        match piece.length as usize {
            length if length <= SHORT => full_cost(piece),
            // The cost is the copies, with as much again for the records of pieces of 64 bytes.
            length => RECORD + 2 * length / EARNEST,
        }
    }

    /// Makes the message of `piece`, without that piece. `None` if there is no memory.
    pub(super) fn new(piece: Piece, age: Age, now: Instant) -> Option<Self> {
        let content = match piece.length as usize {
            length if length <= SHORT => room(piece)?,
            _ => Content::Few { pieces: BTreeMap::new(), bytes: 0 },
        };
        let Piece { length, size, .. } = piece;
        let missing = piece.count();
        let cost = Self::first_cost(piece);
        let received = Vec::new();
        Some(Self { length, size, missing, content, received, cost, age, since: now, is_active: false })
    }

    pub(super) fn has_shape_of(&self, piece: Piece) -> bool {
        (self.length, self.size) == (piece.length, piece.size)
    }

    /// Returns the content of the piece with the index of `piece`, if it has arrived.
    pub(super) fn arrived(&self, piece: Piece) -> Option<&[u8]> {
        match &self.content {
            Content::Few { pieces, .. } => pieces.get(&piece.index).map(|bytes| &**bytes),
            Content::Room { message, arrived } => {
                let (word, bit) = place(piece.index);
                (arrived[word] & bit != 0)
                    .then(|| piece.range().and_then(|range| message.get(range)))
                    .flatten()
            }
        }
    }

    /// Returns the number of further bytes that the message costs once `piece` is in it: more than zero if it
    /// gets its memory now.
    pub(super) fn further_cost(&self, piece: Piece, bytes: &[u8]) -> usize {
        match &self.content {
            Content::Few { bytes: before, .. }
                if (before + bytes.len()) * EARNEST >= self.length as usize =>
            {
                full_cost(piece).saturating_sub(self.cost)
            }
            _ => 0,
        }
    }

    /// Gives the message its memory. Returns true if there was memory.
    pub(super) fn make_room(&mut self, piece: Piece) -> bool {
        let Some(mut all) = room(piece) else { return false };
        if let (Content::Room { message, arrived }, Content::Few { pieces, .. }) = (&mut all, &self.content) {
            for (&index, bytes) in pieces {
                write(message, arrived, Piece { index, ..piece }, bytes);
            }
        }
        self.cost = full_cost(piece);
        self.content = all;
        true
    }

    /// Inserts a piece that has not arrived before. Returns true if the message is complete.
    pub(super) fn insert(&mut self, piece: Piece, bytes: &[u8]) -> bool {
        match &mut self.content {
            Content::Few { pieces, bytes: before } => {
                pieces.insert(piece.index, bytes.into());
                *before += bytes.len();
            }
            Content::Room { message, arrived } => write(message, arrived, piece, bytes),
        }
        // The message is active if this piece is not its first.
        self.is_active |= self.missing < piece.count();
        self.missing -= 1;
        self.missing == 0
    }

    /// Keeps a piece that was inserted, if it has a receipt. A piece that was repeated too often is dropped, so that
    /// it arrives again.
    pub(super) fn keep_receipt(&mut self, piece: Option<Buf>) {
        let pieces = (self.length as usize).div_ceil(usize::from(self.size).max(1));
        if self.received.len() < 2 * pieces {
            self.received.extend(piece.filter(Buf::has_receipt));
        }
    }

    /// Returns the message, once it is complete.
    pub(super) fn into_message(self) -> Option<Buf> {
        match self.content {
            Content::Room { message, .. } => Some(message.with_receipts_of(self.received)),
            Content::Few { .. } => None,
        }
    }
}

fn full_cost(piece: Piece) -> usize {
    RECORD + piece.length as usize + 8 * words(piece)
}

fn words(piece: Piece) -> usize {
    piece.count().div_ceil(64) as usize
}

fn room(piece: Piece) -> Option<Content> {
    let message = Buf::new(piece.length as usize, 0).ok()?;
    Some(Content::Room { message, arrived: vec![0; words(piece)].into() })
}

fn write(message: &mut Buf, arrived: &mut [u64], piece: Piece, bytes: &[u8]) {
    if let Some(target) = piece.range().and_then(|range| message.get_mut(range)) {
        target.copy_from_slice(bytes);
        let (word, bit) = place(piece.index);
        arrived[word] |= bit;
    }
}

/// Returns the word and the bit of a piece in the bitmap.
fn place(index: u32) -> (usize, u64) {
    (index as usize / 64, 1 << (index % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(length: u32, index: u32) -> Piece {
        Piece { message: 1, length, index, size: 1_024 }
    }

    #[test]
    fn a_short_message_has_its_memory_at_once_and_a_long_one_after_a_sixteenth() {
        // 64 pieces and their bits in one word; then 65 pieces, which take two.
        let short = piece(SHORT as u32, 0);
        assert_eq!(Partial::first_cost(short), 512 + 65_536 + 8);
        let partial = Partial::new(short, Age(1), Instant::now()).unwrap();
        assert!(matches!(partial.content, Content::Room { .. }));
        let long = piece(SHORT as u32 + 1, 0);
        assert_eq!(Partial::first_cost(long), 512 + 2 * 65_537 / 16);
        assert_eq!(full_cost(long), 512 + 65_537 + 16);
        let partial = Partial::new(long, Age(1), Instant::now()).unwrap();
        assert!(matches!(partial.content, Content::Few { .. }));
    }

    #[test]
    fn a_long_message_gets_its_memory_with_the_byte_that_makes_a_sixteenth() {
        for (length, further) in [(16 * 5 * 1_024, true), (16 * 5 * 1_024 + 1, false)] {
            let mut partial = Partial::new(piece(length, 0), Age(1), Instant::now()).unwrap();
            for index in 0..4 {
                assert_eq!(partial.further_cost(piece(length, index), &[7; 1_024]), 0);
                assert!(!partial.insert(piece(length, index), &[7; 1_024]));
                assert_eq!(partial.is_active, index > 0);
            }
            let fifth = piece(length, 4);
            let expected = if further { full_cost(fifth) - Partial::first_cost(fifth) } else { 0 };
            assert_eq!(partial.further_cost(fifth, &[7; 1_024]), expected);
            assert!(partial.make_room(fifth));
            assert_eq!(partial.cost, full_cost(fifth));
            assert_eq!(partial.further_cost(fifth, &[7; 1_024]), 0);
            assert_eq!(partial.arrived(piece(length, 3)), Some(&[7; 1_024][..]));
            assert_eq!(partial.arrived(fifth), None);
        }
    }
}
