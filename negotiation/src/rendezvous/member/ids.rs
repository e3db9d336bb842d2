//! Unique random numbers.

/// A generator of 64-bit numbers from a random start: SplitMix64, of Steele, Lea and Flood, "Fast splittable
/// pseudorandom number generators", 2014. Its only requirement is that participants differ, which random
/// starts ensure.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Ids(pub(super) u64);

impl Ids {
    pub(super) fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
