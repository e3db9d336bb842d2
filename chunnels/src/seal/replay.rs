//! Which numbers were seen (RFC 6479).

/// How many numbers back are remembered, less up to 63: they are forgotten by whole words.
const WIDTH: u64 = 4096;

/// The newest authenticated numbers.
#[derive(Debug)]
pub(super) struct Replay {
    seen: [u64; (WIDTH / 64) as usize],
    /// One more than the newest.
    end: u64,
}

impl Replay {
    pub(super) const EMPTY: Self = Self { seen: [0; (WIDTH / 64) as usize], end: 0 };

    /// Whether a message that was authenticated is new, as far as one can tell. It is not from then on.
    pub(super) fn is_new(&mut self, number: u64) -> bool {
        // Its word holds newer ones.
        if number / 64 + WIDTH / 64 <= self.end.saturating_sub(1) / 64 {
            return false;
        }
        if number >= self.end {
            self.pass(number);
        }
        let (word, bit) = (&mut self.seen[place(number)], 1 << (number % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// Moves on to `number`: what lies between is new until it arrives.
    fn pass(&mut self, number: u64) {
        // The words that are begun; the rest of the one that was is clear already.
        let (first, last) = (self.end.div_ceil(64), number / 64);
        if first <= last {
            let from = first.max((last + 1).saturating_sub(WIDTH / 64));
            (from..=last).for_each(|word| self.seen[(word % (WIDTH / 64)) as usize] = 0);
        }
        self.end = number + 1;
    }
}

fn place(number: u64) -> usize {
    (number / 64 % (WIDTH / 64)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    proptest! {
        #[test]
        fn nothing_is_new_twice_and_what_is_new_enough_is_new_once(
            steps in prop::collection::vec((0..3_u8, 0..9000_u64), 0..600),
        ) {
            let (mut replay, mut set, mut end) = (Replay::EMPTY, HashSet::new(), 0_u64);
            for (kind, step) in steps {
                let number = match kind {
                    0 => end,
                    1 => end + step,
                    _ => end.saturating_sub(step),
                };
                let is_first = set.insert(number);
                let is_new = replay.is_new(number);
                prop_assert!(is_first || !is_new, "{} was new twice", number);
                if is_first && number + (WIDTH - 64) >= end {
                    prop_assert!(is_new, "{} of {} was not new", number, end);
                }
                end = end.max(number + 1);
            }
        }
    }
}
