//! Sets of packet numbers as a bounded list of ranges.

use std::fmt;
use std::ops::RangeInclusive;

/// The number of ranges that are kept and acknowledged. A sender declares packets lost that lie three behind, so further ranges
/// would be of no use to it.
pub const RANGES: usize = 32;

/// Up to [`RANGES`] ranges of numbers, newest first, neither overlapping nor adjacent. Where there are more, the oldest
/// are forgotten.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Ranges {
    /// Lowest and highest number of each.
    ranges: [(u64, u64); RANGES],
    len: usize,
}

impl Ranges {
    /// The empty set.
    pub const NONE: Self = Self { ranges: [(0, 0); RANGES], len: 0 };

    /// Inserts a number. Returns true if it was missing.
    pub fn insert(&mut self, number: u64) -> bool {
        // Almost always the newest, or right behind it.
        let at = self.as_slice().iter().position(|(low, _)| *low <= number).unwrap_or(self.len);
        if self.as_slice().get(at).is_some_and(|(_, high)| number <= *high) {
            return false;
        }
        let extends_older = self.as_slice().get(at).is_some_and(|(_, high)| high + 1 == number);
        let extends_newer = at > 0 && self.ranges[at - 1].0 == number + 1;
        match (extends_older, extends_newer) {
            (true, true) => {
                self.ranges[at - 1].0 = self.ranges[at].0;
                self.ranges.copy_within(at + 1..self.len, at);
                self.len -= 1;
            }
            (true, false) => self.ranges[at].1 = number,
            (false, true) => self.ranges[at - 1].0 = number,
            (false, false) if at < RANGES => {
                let kept = self.len.min(RANGES - 1);
                self.ranges.copy_within(at..kept, at + 1);
                self.ranges[at] = (number, number);
                self.len = kept + 1;
            }
            // Older than all, and the set is full.
            (false, false) => {}
        }
        true
    }

    /// Adds a range below all other ranges. Returns false if the range does not lie below them, or there is no room.
    pub(super) fn push_older(&mut self, low: u64, high: u64) -> bool {
        let fits = self.len < RANGES && low <= high && self.oldest().is_none_or(|oldest| high + 1 < oldest);
        if fits {
            self.ranges[self.len] = (low, high);
            self.len += 1;
        }
        fits
    }

    /// Returns the largest number.
    pub fn newest(&self) -> Option<u64> {
        self.as_slice().first().map(|(_, high)| *high)
    }

    /// Returns the smallest number.
    pub fn oldest(&self) -> Option<u64> {
        self.as_slice().last().map(|(low, _)| *low)
    }

    /// Returns the ranges, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = RangeInclusive<u64>> + ExactSizeIterator + '_ {
        self.as_slice().iter().rev().map(|(low, high)| *low..=*high)
    }

    fn as_slice(&self) -> &[(u64, u64)] {
        &self.ranges[..self.len]
    }
}

impl fmt::Debug for Ranges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn of(numbers: &[u64]) -> Ranges {
        let mut ranges = Ranges::NONE;
        numbers.iter().for_each(|number| {
            ranges.insert(*number);
        });
        ranges
    }

    #[test]
    fn neighbours_merge() {
        assert_eq!(of(&[1, 3]).iter().collect::<Vec<_>>(), [1..=1, 3..=3]);
        assert_eq!(of(&[1, 3, 2]).iter().collect::<Vec<_>>(), [1..=3]);
        assert!(!of(&[1, 3, 2]).insert(2));
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let numbers: Vec<u64> = (0..100).map(|number| number * 2).collect();
        let ranges = of(&numbers);
        assert_eq!(ranges.iter().len(), RANGES);
        assert_eq!((ranges.oldest(), ranges.newest()), (Some(200 - 2 * RANGES as u64), Some(198)));
        // A number older than all of a full set changes nothing.
        let mut more = ranges;
        more.insert(3);
        assert_eq!(more, ranges);
    }

    proptest! {
        #[test]
        fn it_is_a_set(numbers in prop::collection::vec(0..40_u64, 0..80)) {
            let (mut ranges, mut set) = (Ranges::NONE, BTreeSet::new());
            for number in numbers {
                prop_assert_eq!(ranges.insert(number), set.insert(number));
                prop_assert!(ranges.iter().flatten().eq(set.iter().copied()));
                prop_assert!(ranges.as_slice().windows(2).all(|two| two[1].1 + 1 < two[0].0));
            }
        }
    }
}
