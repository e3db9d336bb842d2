//! Rooms that leave rows where they are.

use super::plan;
use crate::{Fault, Frame, Limits, Memory, NoRoom, PrivateMemory, Room};
use proptest::prelude::*;

/// A room that leaves rows from a number of bytes on, which its maker brings behind what was copied.
struct Leaving<'a> {
    copied: PrivateMemory,
    shortest: usize,
    from: Frame<'a>,
    rows: Vec<(u64, Vec<u8>)>,
}

impl Leaving<'_> {
    fn whole(mut self) -> Vec<u8> {
        let mut at = Frame::MESSAGE + self.copied.used() as u64;
        for (reference, row) in &self.rows {
            self.copied.bytes(*reference, 8).copy_from_slice(&at.to_le_bytes());
            at += row.len() as u64;
        }
        let rows = self.rows.iter().map(|(_, row)| &row[..]);
        [self.copied.as_bytes()].into_iter().chain(rows).collect::<Vec<_>>().concat()
    }
}

impl Room for Leaving<'_> {
    fn reserve(&mut self, bytes: usize) -> Result<u64, NoRoom> {
        self.copied.reserve(bytes)
    }

    fn bytes(&mut self, at: u64, len: usize) -> &mut [u8] {
        self.copied.bytes(at, len)
    }

    fn leave(&mut self, reference: u64, from: u64, bytes: usize) -> bool {
        let mut row = vec![0; bytes];
        if bytes < self.shortest || self.from.read(from, &mut row).is_err() {
            return false;
        }
        self.rows.push((reference, row));
        true
    }
}

proptest! {
    /// A reader of a message whose rows were left gets the copy that would have been made at once, or the fault, except that text is not
    /// looked at before.
    #[test]
    fn a_message_whose_rows_were_left_is_the_message(
        words in proptest::collection::vec(0..2048_u64, 0..256),
        start in 0..64_u64,
        shortest in 1..64_usize,
    ) {
        let (plan, id) = plan();
        let limits = Limits::default().memory(1 << 16).depth(20);
        let bytes: Vec<_> = words.iter().flat_map(|word| (4096 + word).to_le_bytes()).collect();
        let (from, at) = (Frame::of(&bytes), Frame::MESSAGE + 8 * start);
        let mut once = PrivateMemory::of(1 << 20);
        let copied = plan.copy(id, &from, at, &mut once, limits);
        let mut room = Leaving { copied: PrivateMemory::of(1 << 20), shortest, from, rows: Vec::new() };
        match plan.copy(id, &from, at, &mut room, limits) {
            Ok(at) => {
                prop_assert_eq!(at, Frame::MESSAGE);
                let whole = room.whole();
                let mut twice = PrivateMemory::of(1 << 20);
                let again = plan.copy(id, &Frame::of(&whole), Frame::MESSAGE, &mut twice, limits);
                prop_assert_eq!(copied.map(drop), again.map(drop));
                if copied.is_ok() {
                    prop_assert_eq!(once.as_bytes(), twice.as_bytes());
                }
            }
            Err(fault) => {
                let is_text = matches!(copied, Err(Fault::NotText(_)));
                prop_assert!(copied == Err(fault) || is_text, "{:?} is {:?}", copied, fault);
            }
        }
    }
}
