//! The free pages, as runs that are as long as they can be.

use std::collections::{BTreeMap, BTreeSet};

/// Runs of free pages. No two of them adjoin.
#[derive(Debug, Default)]
pub(super) struct Runs {
    /// The length of each run, by its first page.
    by_start: BTreeMap<usize, usize>,
    /// The length and the first page of each run.
    by_length: BTreeSet<(usize, usize)>,
}

impl Runs {
    /// Takes pages in a row from the shortest run that has as many, and returns the first page.
    pub(super) fn take(&mut self, pages: usize) -> Option<usize> {
        let (length, start) = *self.by_length.range((pages, 0)..).next()?;
        self.remove(start, length);
        if length > pages {
            self.insert(start + pages, length - pages);
        }
        Some(start)
    }

    /// Makes pages free, and merges them with the runs beside them.
    pub(super) fn put(&mut self, mut start: usize, mut pages: usize) {
        debug_assert!(
            self.by_start.range(start..start + pages).next().is_none(),
            "page {start} is freed twice"
        );
        if let Some((before, length)) = self.last_before(start)
            && before + length == start
        {
            self.remove(before, length);
            (start, pages) = (before, length + pages);
        }
        let end = start + pages;
        if let Some(length) = self.by_start.get(&end).copied() {
            self.remove(end, length);
            pages += length;
        }
        self.insert(start, pages);
    }

    /// Returns the number of free pages that lie directly before a page.
    pub(super) fn before(&self, page: usize) -> usize {
        self.last_before(page)
            .filter(|(start, length)| start + length == page)
            .map_or(0, |(_, length)| length)
    }

    fn last_before(&self, page: usize) -> Option<(usize, usize)> {
        self.by_start.range(..page).next_back().map(|(start, length)| (*start, *length))
    }

    fn insert(&mut self, start: usize, length: usize) {
        self.by_start.insert(start, length);
        self.by_length.insert((length, start));
    }

    fn remove(&mut self, start: usize, length: usize) {
        self.by_start.remove(&start);
        self.by_length.remove(&(length, start));
    }
}
