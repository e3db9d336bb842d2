//! Which descriptors are sockets of ours.

use std::sync::atomic::{AtomicU32, Ordering};

/// A table from descriptors to the numbers of places. A descriptor costs a look.
#[derive(Debug)]
pub struct Table<const DESCRIPTORS: usize> {
    /// The number of a place plus one, or zero.
    places: [AtomicU32; DESCRIPTORS],
}

impl<const DESCRIPTORS: usize> Table<DESCRIPTORS> {
    /// Creates an empty table.
    #[expect(clippy::new_without_default, reason = "a table is a static")]
    pub const fn new() -> Self {
        Self { places: [const { AtomicU32::new(0) }; DESCRIPTORS] }
    }

    /// Returns the place of a descriptor.
    #[inline]
    pub fn get(&self, descriptor: i32) -> Option<u32> {
        let entry = self.places.get(usize::try_from(descriptor).ok()?)?;
        entry.load(Ordering::Acquire).checked_sub(1)
    }

    /// Gives a descriptor a place. Returns false if the table ends before the descriptor.
    pub fn set(&self, descriptor: i32, place: u32) -> bool {
        let entry = usize::try_from(descriptor).ok().and_then(|at| self.places.get(at));
        entry.inspect(|entry| entry.store(place + 1, Ordering::Release)).is_some()
    }

    /// Takes a descriptor out. Returns the place that it had, to one caller alone.
    pub fn take(&self, descriptor: i32) -> Option<u32> {
        let entry = self.places.get(usize::try_from(descriptor).ok()?)?;
        if entry.load(Ordering::Relaxed) == 0 {
            return None;
        }
        entry.swap(0, Ordering::AcqRel).checked_sub(1)
    }

    /// Returns all descriptors that have places, up to `last`.
    pub fn iter(&self, last: usize) -> impl Iterator<Item = (i32, u32)> + '_ {
        self.places.iter().take(last).enumerate().filter_map(|(descriptor, place)| {
            let place = place.load(Ordering::Acquire).checked_sub(1)?;
            Some((i32::try_from(descriptor).ok()?, place))
        })
    }
}
