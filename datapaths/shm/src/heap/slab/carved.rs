//! A page that is carved into small blocks.

use super::class::Class;

/// A page that was carved into blocks of a class at some time.
#[derive(Debug, Default)]
pub(super) struct Carved {
    pub(super) class: Class,
    /// Place of the page in the list of its class's open pages, while it has free blocks.
    pub(super) place: usize,
    /// A bit for each block, set while the block is free.
    free: Vec<u64>,
    /// A bit for each word of `free`, set while the word is not zero.
    words: u64,
    /// Number of free blocks.
    count: usize,
}

impl Carved {
    /// Carves the page anew. A page that was carved before needs no allocation for it.
    pub(super) fn carve(&mut self, class: Class) {
        let blocks = class.blocks();
        self.class = class;
        self.free.clear();
        self.free.extend((0..blocks).step_by(64).map(|block| ones(blocks - block)));
        self.words = ones(self.free.len());
        self.count = blocks;
    }

    /// Takes a free block, if there is one.
    #[inline]
    pub(super) fn take(&mut self) -> Option<usize> {
        let place = self.words.trailing_zeros() as usize;
        let word = self.free.get_mut(place)?;
        let block = 64 * place + word.trailing_zeros() as usize;
        *word &= *word - 1;
        if *word == 0 {
            self.words ^= 1 << place;
        }
        self.count -= 1;
        Some(block)
    }

    /// Makes a block free.
    #[inline]
    pub(super) fn put(&mut self, block: usize) {
        let (place, bit) = (block / 64, 1 << (block % 64));
        debug_assert!(self.free[place] & bit == 0, "the block {block} is freed twice");
        self.free[place] |= bit;
        self.words |= 1 << place;
        self.count += 1;
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.count == 0
    }

    #[inline]
    pub(super) fn is_free(&self) -> bool {
        self.count == self.class.blocks()
    }
}

/// Returns a word whose lowest bits are set, as many as a word has of these.
fn ones(bits: usize) -> u64 {
    u64::MAX >> (64 - bits.min(64))
}
