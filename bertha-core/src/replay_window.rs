//! The anti-replay window of numbered messages (RFC 6479), without I/O.

/// The sequence numbers that were seen, as far back as a window of `WORDS` words of 64 bits reaches.
///
/// ```
/// use bertha_core::replay_window::ReplayWindow;
///
/// let mut window = ReplayWindow::<64>::new();
/// assert!(window.insert(7) && window.insert(5));
/// assert!(!window.insert(7), "a replay");
/// ```
///
/// At least the newest `64 * (WORDS - 1) + 1` numbers are told apart from their replays; older numbers count
/// as replays. The window moves by whole words, so up to 63 further numbers may be remembered. Authenticate a
/// message before its number is inserted: a forged number far ahead moves the window past all genuine
/// numbers.
#[derive(Debug, Clone)]
pub struct ReplayWindow<const WORDS: usize> {
    /// Bit `n % 64` of word `n / 64 % WORDS` stands for number `n`.
    seen: [u64; WORDS],
    /// The number after the highest number.
    next: u64,
}

impl<const WORDS: usize> ReplayWindow<WORDS> {
    /// Makes a window that has seen no number.
    pub const fn new() -> Self {
        const { assert!(WORDS >= 2, "a window of one word forgets everything when it moves") };
        Self { seen: [0; WORDS], next: 0 }
    }

    /// Returns the number after the highest number that was inserted; zero before the first.
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// Inserts `number`, and returns true if it is new. Numbers older than the window, and [`u64::MAX`], are
    /// never new.
    #[inline]
    pub fn insert(&mut self, number: u64) -> bool {
        let words = WORDS as u64;
        let is_too_old = number / 64 + words <= self.next.saturating_sub(1) / 64;
        if is_too_old || number == u64::MAX {
            return false;
        }
        if number >= self.next {
            self.advance(number);
        }
        let word = &mut self.seen[(number / 64 % words) as usize];
        let bit = 1 << (number % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// Makes `number` new again, and returns true, if it was inserted and is within the window.
    pub fn remove(&mut self, number: u64) -> bool {
        let words = WORDS as u64;
        let is_too_old = number / 64 + words <= self.next.saturating_sub(1) / 64;
        if is_too_old || number >= self.next {
            return false;
        }
        let word = &mut self.seen[(number / 64 % words) as usize];
        let bit = 1 << (number % 64);
        let was_seen = *word & bit != 0;
        *word &= !bit;
        was_seen
    }

    /// Moves the window up to `number`. The numbers in between are new until they are inserted.
    fn advance(&mut self, number: u64) {
        // The word of the highest number so far is in use, and its bits above that number are clear.
        let first = self.next.div_ceil(64);
        let last = number / 64;
        let oldest = (last + 1).saturating_sub(WORDS as u64);
        for word in first.max(oldest)..=last {
            self.seen[(word % WORDS as u64) as usize] = 0;
        }
        self.next = number + 1;
    }
}

impl<const WORDS: usize> Default for ReplayWindow<WORDS> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    #[test]
    fn each_number_counts_once() {
        let mut window = ReplayWindow::<2>::new();
        let new = [0, 0, 2, 1, 1, 2, 3].map(|number| window.insert(number));
        assert_eq!(new, [true, false, true, true, false, false, true]);
        assert!(window.insert(130) && window.insert(66) && !window.insert(63) && !window.insert(66));
        assert_eq!(window.next(), 131);
        assert!(window.insert(u64::MAX - 1) && !window.insert(u64::MAX) && !window.insert(100));
    }

    #[test]
    fn a_number_that_is_removed_is_new_again() {
        let mut window = ReplayWindow::<2>::new();
        assert!(window.insert(0) && window.insert(70));
        assert!(window.remove(0) && !window.remove(0) && window.insert(0));
        assert!(!window.remove(71) && !window.remove(69) && !window.remove(u64::MAX));
        assert!(window.insert(200));
        // Number 70 is too old to be told apart.
        assert!(!window.remove(70) && window.remove(200));
    }

    /// Generates numbers that continue, leap ahead, or come late.
    fn any_steps() -> impl Strategy<Value = Vec<(u8, u64)>> {
        prop::collection::vec((0..3_u8, 0..9000_u64), 0..600)
    }

    fn check<const WORDS: usize>(steps: Vec<(u8, u64)>) -> Result<(), TestCaseError> {
        let width = 64 * (WORDS as u64 - 1);
        let (mut window, mut seen, mut next) = (ReplayWindow::<WORDS>::new(), HashSet::new(), 0_u64);
        for (kind, step) in steps {
            let number = match kind {
                0 => next,
                1 => next + step,
                _ => next.saturating_sub(step),
            };
            let (is_first, is_new) = (seen.insert(number), window.insert(number));
            prop_assert!(is_first || !is_new, "{} was new twice", number);
            prop_assert!(
                !is_first || is_new || number + width + 1 < next,
                "{} before {} was not new",
                number,
                next
            );
            prop_assert!(!is_new || number + width + 64 >= next, "{} before {} was new", number, next);
            next = next.max(number + 1);
            prop_assert_eq!(window.next(), next);
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn it_is_a_set_with_a_horizon_of_few_words(mut steps in any_steps()) {
            steps.iter_mut().for_each(|(_, step)| *step %= 300);
            check::<2>(steps)?;
        }

        #[test]
        fn it_is_a_set_with_a_horizon_of_many_words(steps in any_steps()) {
            check::<64>(steps)?;
        }
    }
}
