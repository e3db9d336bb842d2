//! The bookkeeping of a heap, without memory: [`Slab`] hands out offsets.
//!
//! ```text
//!  | page     | page     | page     | page                ...
//!  | block .. | run of two pages    | block | block | block ..
//! ```
//!
//! Blocks of up to 16 KiB are small: a page is carved into blocks of a size, and goes back to the free runs when all of its blocks are
//! free. Larger blocks are runs of pages. Nothing is kept in the memory itself, where a bug of an application would overwrite it.

mod carved;
mod class;
mod runs;
#[cfg(test)]
mod tests;

use super::layout::{LARGEST, PAGE};
use carved::Carved;
use class::{CLASSES, Class};
use runs::Runs;

/// Size of the first region that a heap asks for.
const FIRST_REGION: usize = 1 << 20;

/// Number of bytes by which a heap grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Growth {
    /// The number of bytes that there are, so that regions are few.
    Doubled,
    /// The number of bytes that the block needs.
    Least,
}

/// The free and the taken blocks among the bytes that were granted.
#[derive(Debug)]
pub(super) struct Slab {
    quota: usize,
    runs: Runs,
    /// All pages that were granted, with their blocks while they are carved.
    pages: Vec<Carved>,
    /// The pages with free blocks, for each class.
    open: [Vec<usize>; CLASSES],
}

impl Slab {
    /// Creates the bookkeeping of an empty heap that may grow to so many bytes.
    pub(super) fn new(quota: usize) -> Self {
        let quota = quota.min(LARGEST) / PAGE * PAGE;
        Self { quota, runs: Runs::default(), pages: Vec::new(), open: [const { Vec::new() }; CLASSES] }
    }

    /// Returns the number of bytes that were granted.
    pub(super) fn granted(&self) -> usize {
        self.pages.len() * PAGE
    }

    /// Adds a region behind the others, and returns its offset. Returns `None` if the quota has no room for it, or if it does not consist
    /// of whole pages.
    pub(super) fn grow(&mut self, bytes: usize) -> Option<usize> {
        if bytes > self.quota - self.granted() || !bytes.is_multiple_of(PAGE) {
            return None;
        }
        let (offset, first) = (self.granted(), self.pages.len());
        self.pages.resize_with(first + bytes / PAGE, Carved::default);
        self.runs.put(first, bytes / PAGE);
        Some(offset)
    }

    /// Returns the size of a region with which a block of so many bytes has room: as many bytes as the block demands; or, up to the quota,
    /// those which double the heap. Returns `None` if the quota has no room.
    pub(super) fn wanted(&self, bytes: usize, growth: Growth) -> Option<usize> {
        // Free pages at the end adjoin the new region.
        let free = self.runs.before(self.pages.len());
        let missing = bytes.div_ceil(PAGE).saturating_sub(free).max(1).checked_mul(PAGE)?;
        let doubled = match growth {
            Growth::Doubled => (self.granted() + 1).next_power_of_two().max(FIRST_REGION),
            Growth::Least => 0,
        };
        let rest = self.quota - self.granted();
        (missing <= rest).then_some(doubled.max(missing).min(rest))
    }

    /// Takes a block, and returns its offset, a multiple of 16. Returns `None` if the regions have no room. A block of no bytes is as
    /// large as the smallest block.
    #[inline]
    pub(super) fn allocate(&mut self, bytes: usize) -> Option<usize> {
        match Class::of(bytes) {
            Some(class) => self.allocate_small(class),
            None => self.runs.take(bytes.div_ceil(PAGE)).map(|page| page * PAGE),
        }
    }

    /// Makes a block free that was allocated with this number of bytes.
    #[inline]
    pub(super) fn free(&mut self, offset: usize, bytes: usize) {
        match Class::of(bytes) {
            Some(class) => self.free_small(offset, class),
            None => {
                debug_assert!(offset.is_multiple_of(PAGE), "a run begins at a page");
                self.runs.put(offset / PAGE, bytes.div_ceil(PAGE));
            }
        }
    }

    #[inline]
    fn allocate_small(&mut self, class: Class) -> Option<usize> {
        let page = match self.open[class.number()].last() {
            Some(page) => *page,
            None => self.carve(class)?,
        };
        let carved = &mut self.pages[page];
        let block = carved.take()?;
        if carved.is_full() {
            self.close(page);
        }
        Some(page * PAGE + block * class.size())
    }

    #[inline]
    fn free_small(&mut self, offset: usize, class: Class) {
        let (page, place) = (offset / PAGE, offset % PAGE);
        let carved = &mut self.pages[page];
        debug_assert!(carved.class == class && place.is_multiple_of(class.size()), "no such block: {offset}");
        let was_full = carved.is_full();
        carved.put(place / class.size());
        let is_free = carved.is_free();
        if was_full {
            self.open(page);
        }
        if is_free {
            self.close(page);
            self.runs.put(page, 1);
        }
    }

    /// Carves a free page, and returns it.
    fn carve(&mut self, class: Class) -> Option<usize> {
        let page = self.runs.take(1)?;
        self.pages[page].carve(class);
        self.open(page);
        Some(page)
    }

    /// Lists a page among those with free blocks.
    fn open(&mut self, page: usize) {
        let carved = &mut self.pages[page];
        let open = &mut self.open[carved.class.number()];
        carved.place = open.len();
        open.push(page);
    }

    /// Takes a page out of the list of those with free blocks. The last page of the list comes to its place.
    fn close(&mut self, page: usize) {
        let Carved { class, place, .. } = self.pages[page];
        let open = &mut self.open[class.number()];
        open.swap_remove(place);
        if let Some(moved) = open.get(place) {
            self.pages[*moved].place = place;
        }
    }
}
