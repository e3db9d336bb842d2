//! Places in the addresses of an application.

use std::num::NonZero;

/// Size and alignment of the range of addresses in which a heap lies: any address in it, masked, gives its base.
pub(super) const SPAN: usize = 4 << 30;

/// Number of bytes between a heap's base and its first region: the size of the largest page that systems have.
pub(super) const HEADER: usize = 64 << 10;

/// Number of bytes of which regions are multiples.
pub(super) const PAGE: usize = 64 << 10;

/// Maximum number of bytes in the regions of a heap.
pub(super) const LARGEST: usize = SPAN - HEADER;

/// Maximum number of regions in a heap: each costs the daemon one of the mappings of which the system gives a process some 65,000.
pub(super) const REGIONS: usize = 256;

/// Alignment of blocks, and so the largest alignment of values.
pub(super) const ALIGNMENT: usize = 16;

/// The address at which an application's heap begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Base(NonZero<u64>);

impl Base {
    /// Takes an address that an application claims. Returns `None` if no heap can begin there.
    pub(super) fn new(address: u64) -> Option<Self> {
        let is_aligned = address.is_multiple_of(SPAN as u64);
        NonZero::new(address).filter(|_| is_aligned).map(Self)
    }

    /// Returns the base of the heap in which an address lies, or `None` if no heap has such addresses.
    #[inline]
    pub(super) fn of(address: u64) -> Option<Self> {
        NonZero::new(address & !(SPAN as u64 - 1)).map(Self)
    }

    #[inline]
    pub(super) fn get(self) -> u64 {
        self.0.get()
    }

    /// Returns the address of the byte with this offset from the beginning of the first region.
    #[inline]
    pub(super) fn address(self, offset: usize) -> NonZero<u64> {
        // The sum stays within the span, whose last address is a number of 64 bits.
        self.0.saturating_add((HEADER + offset) as u64)
    }

    /// Returns the offset of these bytes, or `None` unless all of them lie among the first `mapped` bytes of the regions.
    #[inline]
    pub(super) fn offset(self, address: u64, len: usize, mapped: usize) -> Option<usize> {
        // An address before the first region gives a number larger than any heap.
        let offset = address.wrapping_sub(self.address(0).get()) as usize;
        (offset <= mapped && len <= mapped - offset).then_some(offset)
    }
}

/// Refuses, when the program is compiled, a type whose values have no place in a heap.
pub(super) const fn assert_fits<T>() {
    assert!(size_of::<T>() > 0, "a heap has no values without a size");
    assert!(align_of::<T>() <= ALIGNMENT, "a heap aligns values to at most 16 bytes");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_is_a_multiple_of_the_span_and_not_zero() {
        let span = SPAN as u64;
        for wrong in [0, 1, 4096, span - 1, span + 65_536, u64::MAX] {
            assert_eq!(Base::new(wrong), None, "{wrong:#x}");
        }
        for right in [span, 7 * span, u64::MAX - span + 1] {
            assert_eq!(Base::new(right).unwrap().get(), right);
            assert_eq!(Base::of(right + 12_345), Base::new(right));
        }
        assert_eq!(Base::of(span - 1), None);
    }

    #[test]
    fn bytes_lie_in_the_regions_or_have_no_offset() {
        for base in [SPAN as u64, u64::MAX - SPAN as u64 + 1] {
            let base = Base::new(base).unwrap();
            let first = base.address(0).get();
            for (address, len, offset) in
                [(first, 8, Some(0)), (first + 92, 8, Some(92)), (first + 100, 0, Some(100))]
            {
                assert_eq!(base.offset(address, len, 100), offset);
            }
            let outside =
                [(first + 93, 8), (first + 101, 0), (first - 1, 1), (first, 101), (first + 1, usize::MAX)];
            for (address, len) in
                outside.into_iter().chain([(0, 1), (base.get(), 1), (u64::MAX, 1), (u64::MAX, usize::MAX)])
            {
                assert_eq!(base.offset(address, len, 100), None, "{address:#x}, {len}");
            }
        }
    }
}
