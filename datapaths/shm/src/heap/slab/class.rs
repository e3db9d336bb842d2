//! The sizes of small blocks: four for each doubling, so that at most a fifth of a block larger than 64 bytes is wasted.

use super::PAGE;

/// Number of classes: sizes from 16 bytes to 16 KiB.
pub(super) const CLASSES: usize = 36;

/// Size of the largest small block.
const LARGEST: usize = 16 << 10;

/// Logarithm of the size up to which the classes are 16 bytes apart.
const FIRST_DOUBLING: u32 = 6;

/// The size of a small block, as its number in the order of the sizes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Class(u8);

impl Class {
    /// Returns the class of the smallest blocks that hold so many bytes, or `None` if no small block does.
    #[inline]
    pub(super) fn of(bytes: usize) -> Option<Self> {
        if bytes > LARGEST {
            return None;
        }
        // No bytes at all take a block too, so that each block has an address of its own.
        let last = bytes.saturating_sub(1);
        let doubling = (last | 1 << FIRST_DOUBLING).ilog2();
        let number = 4 * (doubling - FIRST_DOUBLING) as usize + (last >> (doubling - 2));
        Some(Self(number as u8))
    }

    #[inline]
    pub(super) fn number(self) -> usize {
        self.0.into()
    }

    /// Returns the number of bytes of a block.
    #[inline]
    pub(super) fn size(self) -> usize {
        let steps = self.number() + 1;
        let doubling = (self.number() / 4).saturating_sub(1);
        (steps - 4 * doubling) << (doubling + 4)
    }

    /// Returns the number of blocks of a page.
    #[inline]
    pub(super) fn blocks(self) -> usize {
        PAGE / self.size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_holds_what_the_smaller_class_does_not() {
        let sizes: Vec<_> = (0..CLASSES as u8).map(|number| Class(number).size()).collect();
        assert_eq!(sizes[..9], [16, 32, 48, 64, 80, 96, 112, 128, 160]);
        assert_eq!((sizes[CLASSES - 2], sizes[CLASSES - 1]), (14_336, LARGEST));
        for bytes in 1..=LARGEST {
            let class = Class::of(bytes).unwrap();
            let smaller = class.number().checked_sub(1).map_or(0, |number| sizes[number]);
            assert!(smaller < bytes && bytes <= class.size(), "{bytes} in {class:?}");
        }
        assert_eq!((Class::of(0), Class::of(LARGEST + 1)), (Class::of(1), None));
        assert!(sizes.iter().all(|size| size.is_multiple_of(16)));
    }
}
