//! A set of messages as two numbers.

use serde::{Deserialize, Serialize};

/// The number of messages, and the sum of a hash of each message. Two sets with equal tallies are the same
/// set, except with probability 2^-64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Tally {
    pub(super) count: u64,
    sum: u64,
}

impl Tally {
    /// Adds the message with this number of a sender, which is not in the set yet.
    pub(super) fn add(&mut self, sender: u64, number: u32) {
        self.count = self.count.wrapping_add(1);
        self.sum = self.sum.wrapping_add(mix(sender ^ mix(u64::from(number))));
    }

    /// Removes the message with this number of a sender, which is in the set.
    pub(super) fn remove(&mut self, sender: u64, number: u32) {
        self.count = self.count.wrapping_sub(1);
        self.sum = self.sum.wrapping_sub(mix(sender ^ mix(u64::from(number))));
    }

    /// Returns the tally of the union of this set and another set, which has no message in common with it.
    pub(super) fn and(self, other: Self) -> Self {
        let count = self.count.wrapping_add(other.count);
        let sum = self.sum.wrapping_add(other.sum);
        Self { count, sum }
    }
}

/// Spreads each bit over all bits: the finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
fn mix(mut bits: u64) -> u64 {
    bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(messages: impl IntoIterator<Item = (u64, u32)>) -> Tally {
        let mut tally = Tally::default();
        messages.into_iter().for_each(|(sender, number)| tally.add(sender, number));
        tally
    }

    #[test]
    fn shares_add_up_and_a_repetition_does_not_stand_for_what_is_missing() {
        let all = |sender| (0..1000).map(move |number| (sender, number));
        let sent = tally(all(5)).and(tally(all(6)));
        let share = |rest| all(5).chain(all(6)).filter(move |(_, number)| number % 3 == rest);
        let shares = (0..3).map(|rest| tally(share(rest))).fold(Tally::default(), Tally::and);
        assert_eq!(shares, sent);
        // The same number of messages, some of which came twice and others not at all.
        let repeated = tally(share(1)).and(tally(share(1))).and(tally(share(0)));
        assert_eq!(repeated.count, sent.count);
        assert_ne!(repeated, sent);
        assert_ne!(tally([(5, 1), (5, 1)]), tally([(5, 1), (5, 2)]));
        assert_ne!(tally([(5, 6)]), tally([(6, 5)]));
        let mut without = tally([(5, 1), (6, 2)]);
        without.remove(6, 2);
        assert_eq!(without, tally([(5, 1)]));
    }
}
