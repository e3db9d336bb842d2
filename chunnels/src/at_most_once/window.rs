//! Which numbers were seen.

/// How many numbers back are remembered.
const WIDTH: u64 = 4096;

/// A message that is this much newer than all others has a damaged number, most likely, and must not move the window.
const LEAP: u64 = 1 << 24;

/// The last numbers, as bits at their place modulo the width (RFC 6479).
#[derive(Debug)]
pub(super) struct Window {
    seen: [u64; (WIDTH / 64) as usize],
    /// One more than the newest number.
    end: u64,
}

impl Window {
    pub(super) const EMPTY: Self = Self { seen: [0; (WIDTH / 64) as usize], end: 0 };

    /// Whether `number` is new, as far as one can tell. It is not from then on.
    pub(super) fn is_new(&mut self, number: u64) -> bool {
        if number >= self.end.saturating_add(LEAP) || number.saturating_add(WIDTH) < self.end {
            return false;
        }
        if number >= self.end {
            // What lies between is new until it arrives.
            let passed = (number - self.end + 1).min(WIDTH);
            (0..passed).for_each(|back| self.put(number - back, false));
            self.end = number + 1;
        }
        let is_new = !self.has(number);
        self.put(number, true);
        is_new
    }

    fn has(&self, number: u64) -> bool {
        let place = number % WIDTH;
        self.seen[(place / 64) as usize] & 1 << (place % 64) != 0
    }

    fn put(&mut self, number: u64, is_seen: bool) {
        let place = number % WIDTH;
        let word = &mut self.seen[(place / 64) as usize];
        *word = (*word & !(1 << (place % 64))) | u64::from(is_seen) << (place % 64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn what_is_too_old_or_too_new_counts_as_seen() {
        let mut window = Window::EMPTY;
        assert!(window.is_new(10_000) && !window.is_new(10_000));
        assert!(window.is_new(10_001 - WIDTH) && !window.is_new(10_000 - WIDTH));
        assert!(!window.is_new(10_001 + LEAP) && !window.is_new(u64::MAX));
        assert!(window.is_new(10_001));
    }

    proptest! {
        #[test]
        fn each_number_is_new_once(numbers in prop::collection::vec(0..9000_u64, 0..600)) {
            let (mut window, mut set, mut end) = (Window::EMPTY, BTreeSet::new(), 0);
            for number in numbers {
                end = end.max(number + 1);
                let is_old = number + WIDTH < end;
                prop_assert_eq!(window.is_new(number), !is_old && set.insert(number));
            }
        }
    }
}
