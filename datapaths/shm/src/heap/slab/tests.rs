//! The slab against a list of live blocks.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

const QUOTA: usize = 4 << 20;

#[derive(Debug, Clone)]
enum Step {
    Allocate(usize),
    /// Frees one of the live blocks.
    Free(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let bytes = prop_oneof![4 => 0..300_usize, 4 => 300..20_000_usize, 1 => 20_000..700_000_usize];
    let step = prop_oneof![3 => bytes.prop_map(Step::Allocate), 2 => any::<usize>().prop_map(Step::Free)];
    proptest::collection::vec(step, 1..400)
}

/// A slab and its live blocks: the bytes of each, by its offset.
struct Model {
    slab: Slab,
    live: BTreeMap<usize, usize>,
}

impl Model {
    fn allocate(&mut self, bytes: usize) -> Option<usize> {
        let offset = self.slab.allocate(bytes).or_else(|| {
            let wanted = self.slab.wanted(bytes, Growth::Doubled)?;
            assert_eq!(self.slab.grow(wanted), Some(self.slab.granted() - wanted));
            Some(self.slab.allocate(bytes).expect("the region has room"))
        })?;
        assert!(offset.is_multiple_of(16) && offset + bytes <= self.slab.granted());
        let before = self.live.range(..=offset).next_back();
        assert!(
            before.is_none_or(|(start, bytes)| start + (*bytes).max(1) <= offset),
            "{offset} overlaps {before:?}"
        );
        let after = self.live.range(offset..).next();
        assert!(after.is_none_or(|(start, _)| offset + bytes <= *start), "{offset} overlaps {after:?}");
        self.live.insert(offset, bytes);
        Some(offset)
    }

    fn free(&mut self, which: usize) {
        if let Some((offset, bytes)) =
            self.live.iter().nth(which % self.live.len().max(1)).map(|(at, bytes)| (*at, *bytes))
        {
            self.live.remove(&offset);
            self.slab.free(offset, bytes);
        }
    }
}

proptest! {
    #[test]
    fn blocks_never_overlap_and_all_that_is_freed_is_one_run(steps in steps()) {
        let mut model = Model { slab: Slab::new(QUOTA), live: BTreeMap::new() };
        for step in steps {
            match step {
                Step::Allocate(bytes) => _ = model.allocate(bytes),
                Step::Free(which) => model.free(which),
            }
        }
        while !model.live.is_empty() {
            model.free(0);
        }
        let granted = model.slab.granted();
        prop_assert!(granted <= QUOTA);
        if granted > 0 {
            prop_assert_eq!(model.slab.allocate(granted), Some(0));
            prop_assert_eq!(model.slab.allocate(1), None);
        }
    }
}

#[test]
fn regions_double_up_to_the_quota() {
    let mut slab = Slab::new((9 << 20) + 100);
    let mut sizes = Vec::new();
    while let Some(bytes) = slab.wanted(1, Growth::Doubled) {
        slab.grow(bytes).unwrap();
        sizes.push(bytes >> 20);
    }
    assert_eq!(sizes, [1, 2, 4, 2]);
    assert_eq!((slab.granted(), slab.grow(PAGE)), (9 << 20, None));
}

#[test]
fn a_region_fits_the_block_for_which_it_is_wanted() {
    let mut slab = Slab::new(4 << 20);
    assert_eq!(slab.wanted(5 << 20, Growth::Doubled), None);
    assert_eq!(slab.wanted(usize::MAX, Growth::Doubled), None);
    assert_eq!(slab.wanted((3 << 20) + 1, Growth::Doubled), Some((3 << 20) + PAGE));
    slab.grow(1 << 20).unwrap();
    // The first region is free and adjoins the next one.
    assert_eq!(slab.wanted(4 << 20, Growth::Doubled), Some(3 << 20));
    assert_eq!(slab.wanted(1 << 20, Growth::Least), Some(PAGE), "behind free pages");
    slab.allocate(1).unwrap();
    assert_eq!(slab.wanted(4 << 20, Growth::Doubled), None);
}

#[test]
fn regions_consist_of_pages() {
    let mut slab = Slab::new(1 << 20);
    assert_eq!((slab.grow(PAGE + 16), slab.grow(usize::MAX)), (None, None));
    assert_eq!((slab.grow(PAGE), slab.grow(PAGE)), (Some(0), Some(PAGE)));
}

#[test]
fn a_page_has_as_many_blocks_as_fit() {
    for bytes in [1, 16, 17, 100, 1000, 8192, 16_384] {
        let mut slab = Slab::new(PAGE);
        slab.grow(PAGE).unwrap();
        let size = Class::of(bytes).unwrap().size();
        assert_eq!(std::iter::from_fn(|| slab.allocate(bytes)).count(), PAGE / size, "{bytes}");
    }
}

#[test]
#[should_panic(expected = "freed twice")]
#[cfg(debug_assertions)]
fn a_block_that_is_freed_twice_is_a_bug() {
    let mut slab = Slab::new(PAGE);
    slab.grow(PAGE).unwrap();
    let blocks = [slab.allocate(8).unwrap(), slab.allocate(8).unwrap()];
    slab.free(blocks[0], 8);
    slab.free(blocks[0], 8);
}
