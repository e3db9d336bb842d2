//! The Internet checksum (RFC 1071).

/// A sum of 16-bit words that is not folded yet. Words are added in the byte order in which they lie in
/// memory, and the sum is stored in this order too: the result does not depend on the byte order (RFC 1071,
/// section 2).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sum(u64);

impl Sum {
    /// Sums `bytes`, which begin at an even offset of the packet; an odd last byte is padded with zero.
    #[inline]
    pub(crate) fn of(bytes: &[u8]) -> Self {
        // Words are long, and their carries are counted separately: adding a word is a single instruction.
        let (words, last) = bytes.as_chunks();
        let (blocks, rest) = words.as_chunks::<4>();
        let mut sum = 0_u64;
        let mut carries = 0_u64;
        for block in blocks {
            let mut carry = false;
            for word in block {
                (sum, carry) = u64::from_ne_bytes(*word).carrying_add(sum, carry);
            }
            carries += u64::from(carry);
        }
        for word in rest {
            let carry;
            (sum, carry) = sum.overflowing_add(u64::from_ne_bytes(*word));
            carries += u64::from(carry);
        }
        let sum = Self::of_long_word(sum).and(Self(carries));
        if last.is_empty() { sum } else { sum.and(Self::of_few(last)) }
    }

    /// Sums fewer than eight bytes.
    #[inline]
    fn of_few(bytes: &[u8]) -> Self {
        let (words, last) = bytes.as_chunks();
        let sum = words.iter().map(|word| u64::from(u16::from_ne_bytes(*word))).sum::<u64>();
        let last = last.first().map_or(0, |last| u16::from_ne_bytes([*last, 0]));
        Self(sum + u64::from(last))
    }

    /// Sums eight bytes as they lie in memory.
    #[inline]
    pub(crate) fn of_long_word(word: u64) -> Self {
        Self((word >> 32) + (word & 0xffff_ffff))
    }

    /// Sums two bytes as they lie in memory.
    #[inline]
    pub(crate) fn of_word(word: u16) -> Self {
        Self(word.into())
    }

    /// Adds another part, which begins at an even offset.
    #[inline]
    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }

    /// Adds a number of 16 bits in network byte order.
    #[inline]
    pub(crate) fn and_number(self, number: u16) -> Self {
        Self(self.0 + u64::from(number.to_be()))
    }

    /// Returns the folded sum; all ones if a valid checksum was summed up.
    #[inline]
    pub(crate) fn folded(self) -> u16 {
        let (sum, carry) = (self.0 as u32).overflowing_add((self.0 >> 32) as u32);
        // A sum that has overflowed is small enough for its carry.
        let sum = sum + u32::from(carry);
        let (sum, carry) = (sum as u16).overflowing_add((sum >> 16) as u16);
        sum + u16::from(carry)
    }

    /// Returns true if the bytes that were summed up, their checksum included, are undamaged.
    #[inline]
    pub(crate) fn is_valid(self) -> bool {
        self.folded() == 0xffff
    }

    /// Returns the checksum for its field, which counted as zero.
    #[inline]
    pub(crate) fn checksum(self) -> [u8; 2] {
        (!self.folded()).to_ne_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Computes the checksum as the RFC describes it.
    fn plain(bytes: &[u8]) -> [u8; 2] {
        let mut sum: u32 = 0;
        for word in bytes.chunks(2) {
            sum += u32::from(u16::from_be_bytes([word[0], *word.get(1).unwrap_or(&0)]));
            sum = (sum >> 16) + (sum & 0xffff);
        }
        (!(sum as u16)).to_be_bytes()
    }

    #[test]
    fn the_example_of_the_rfc() {
        let sum = Sum::of(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
        assert_eq!(sum.folded().to_ne_bytes(), [0xdd, 0xf2]);
    }

    proptest! {
        #[test]
        fn is_the_plain_sum(bytes in prop::collection::vec(any::<u8>(), 1..3000), cut in 0..1500_usize) {
            prop_assert_eq!(Sum::of(&bytes).checksum(), plain(&bytes));
            let (front, back) = bytes.split_at((cut * 2).min(bytes.len() & !1));
            prop_assert_eq!(Sum::of(front).and(Sum::of(back)).checksum(), plain(&bytes));
        }

        #[test]
        fn a_valid_checksum_is_recognised(mut bytes in prop::collection::vec(any::<u8>(), 2..300)) {
            bytes[..2].fill(0);
            let checksum = Sum::of(&bytes).checksum();
            bytes[..2].copy_from_slice(&checksum);
            prop_assert!(Sum::of(&bytes).is_valid());
        }
    }

    #[test]
    fn the_largest_sums_fold() {
        for len in [2, 4, 15, 16, 65_534, 65_535] {
            let bytes = vec![0xff; len];
            assert_eq!(Sum::of(&bytes).checksum(), plain(&bytes));
        }
        assert_eq!(Sum(u64::MAX).folded(), 0xffff);
    }
}
