//! A table of values, which are named by handles.
//!
//! A handle is the place in the table and the generation of the place, which grows with each value. So no handle
//! of a value that has gone names a later value, and any number is a safe handle.

/// Most places of a table.
const MOST: usize = 1 << 24;

/// Values by their handles.
#[derive(Debug)]
pub(crate) struct Table<T> {
    /// Bits that all handles of this table have, by which they are told from those of other tables.
    mark: u32,
    places: Vec<Place<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Place<T> {
    generation: u32,
    value: Option<T>,
}

impl<T> Table<T> {
    /// Makes a table whose handles have the bits of `mark`, which are above the number of any place.
    pub(crate) const fn new(mark: u32) -> Self {
        Self { mark, places: Vec::new(), free: Vec::new() }
    }

    /// Returns the handle of the value from now on, or the value if the table is full.
    pub(crate) fn insert(&mut self, value: T) -> Result<u64, T> {
        let index = match self.free.pop() {
            Some(index) => index,
            None if self.places.len() >= MOST => return Err(value),
            None => {
                self.places.push(Place { generation: 1, value: None });
                u32::try_from(self.places.len() - 1).unwrap_or_default()
            }
        };
        let place = &mut self.places[index as usize];
        place.value = Some(value);
        Ok(u64::from(place.generation) << 32 | u64::from(index | self.mark))
    }

    pub(crate) fn get(&self, handle: u64) -> Option<&T> {
        let (index, generation) = self.parts(handle)?;
        self.places.get(index).filter(|place| place.generation == generation)?.value.as_ref()
    }

    /// Takes the value out. No other handle is ever equal to this one.
    pub(crate) fn remove(&mut self, handle: u64) -> Option<T> {
        let (index, generation) = self.parts(handle)?;
        let place = self.places.get_mut(index).filter(|place| place.generation == generation)?;
        let value = place.value.take()?;
        // A place whose generations are used up stays empty.
        if let Some(next) = generation.checked_add(1) {
            place.generation = next;
            self.free.push(u32::try_from(index).unwrap_or_default());
        }
        Some(value)
    }

    /// Takes a removal back. Removals are taken back in the opposite order, with nothing in between.
    pub(crate) fn undo_remove(&mut self, handle: u64, value: T) {
        let Some((index, generation)) = self.parts(handle) else { return };
        let Some(place) = self.places.get_mut(index) else { return };
        if place.generation != generation {
            place.generation = generation;
            self.free.pop();
        }
        place.value = Some(value);
    }

    fn parts(&self, handle: u64) -> Option<(usize, u32)> {
        let generation = u32::try_from(handle >> 32).ok()?;
        let low = u32::try_from(handle & u64::from(u32::MAX)).ok()?;
        let index = low ^ self.mark;
        ((index as usize) < MOST).then_some((index as usize, generation))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;

    #[test]
    fn a_handle_names_one_value_for_ever() {
        let mut table = Table::new(0);
        let first = table.insert("first").unwrap();
        assert_ne!(first, 0);
        assert_eq!(table.get(first), Some(&"first"));
        assert_eq!(table.remove(first), Some("first"));
        let second = table.insert("second").unwrap();
        assert_eq!([table.get(first).copied(), table.remove(first)], [None; 2]);
        assert_eq!(table.get(second), Some(&"second"));
    }

    #[test]
    fn numbers_that_are_no_handles_name_nothing() {
        let mut table = Table::new(1 << 31);
        let handle = table.insert(()).unwrap();
        for wrong in [0, 1, u64::MAX, handle ^ 1 << 31, handle ^ 1, handle ^ 1 << 32, 1 << 63] {
            assert!(table.get(wrong).is_none() && table.remove(wrong).is_none(), "{wrong:x}");
        }
        assert!(table.get(handle).is_some());
    }

    #[test]
    fn removals_are_taken_back() {
        let mut table = Table::new(0);
        let handles = [(); 2].map(|()| table.insert('a').unwrap());
        let values = handles.map(|handle| table.remove(handle).unwrap());
        for (handle, value) in handles.into_iter().zip(values).rev() {
            table.undo_remove(handle, value);
        }
        let third = table.insert('c').unwrap();
        assert!(handles.iter().all(|handle| table.get(*handle) == Some(&'a') && *handle != third));
    }

    #[test]
    fn a_place_whose_generations_are_used_up_is_not_used_again() {
        let mut table = Table::new(0);
        table.insert(()).unwrap();
        table.places[0].generation = u32::MAX;
        let last = u64::from(u32::MAX) << 32;
        assert!(table.remove(last).is_some());
        assert_eq!(table.insert(()).unwrap() & 1, 1);
        assert!(table.get(last).is_none());
    }
}
