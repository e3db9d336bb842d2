//! Calls that change many elements, with the names of std.

use super::Vec;

impl<T> Vec<T> {
    /// Keeps the elements of which `keep` says so, in their order, and drops the others.
    ///
    /// If `keep` panics, no element is lost; some have changed their places.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        let elements = self.as_mut_slice();
        let mut kept = 0;
        for at in 0..elements.len() {
            if keep(&elements[at]) {
                elements.swap(kept, at);
                kept += 1;
            }
        }
        self.truncate(kept);
    }

    /// Drops each element that equals the one before it.
    pub fn dedup(&mut self)
    where
        T: PartialEq,
    {
        let elements = self.as_mut_slice();
        let mut kept = 0;
        for at in 0..elements.len() {
            if kept == 0 || elements[kept - 1] != elements[at] {
                elements.swap(kept, at);
                kept += 1;
            }
        }
        self.truncate(kept);
    }

    /// Moves all elements of another vector behind the own ones.
    ///
    /// # Panics
    /// Panics if the heap has no room; both are as before then.
    #[track_caller]
    pub fn append(&mut self, other: &mut Self) {
        self.reserve(other.len());
        let own = self.len();
        while let Some(element) = other.pop() {
            self.push(element);
        }
        // They came last first.
        self.as_mut_slice()[own..].reverse();
    }

    /// Has so many elements: copies of `value` are added, or the last ones dropped.
    ///
    /// # Panics
    /// Panics if the heap has no room.
    #[track_caller]
    pub fn resize(&mut self, len: usize, value: T)
    where
        T: Clone,
    {
        self.truncate(len);
        self.reserve(len - self.len());
        while self.len() < len {
            self.push(value.clone());
        }
    }
}
