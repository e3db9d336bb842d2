//! Frames by their numbers.

use crate::messages::memory::common::Common;
use std::collections::HashMap;

/// Frames by numbers that they get here, with the number of bytes of all of them. Zero is the number of none.
#[derive(Debug)]
pub(crate) struct Numbered<T> {
    frames: HashMap<u32, (T, usize)>,
    last: u32,
    bytes: usize,
    common: Common,
}

impl<T> Numbered<T> {
    /// Creates a set without frames, whose frames take the room that all parties have in common.
    pub(crate) fn new(common: Common) -> Self {
        Self { frames: HashMap::new(), last: 0, bytes: 0, common }
    }

    /// Returns true if there is room for so many bytes more.
    pub(crate) fn has_room(&self, more: usize) -> bool {
        self.common.has_room(self.bytes, more)
    }

    /// Adds a frame of so many bytes, and returns its number.
    pub(crate) fn add(&mut self, frame: T, bytes: usize) -> u32 {
        loop {
            self.last = self.last.wrapping_add(1);
            if self.last != 0 && !self.frames.contains_key(&self.last) {
                break;
            }
        }
        self.bytes += bytes;
        self.common.take(bytes);
        self.frames.insert(self.last, (frame, bytes));
        self.last
    }

    /// Returns a frame.
    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        self.frames.get(&number).map(|(frame, _)| frame)
    }

    /// Returns a frame, whose number of bytes stays.
    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.frames.get_mut(&number).map(|(frame, _)| frame)
    }

    /// Takes a frame out.
    pub(crate) fn take(&mut self, number: u32) -> Option<T> {
        let (frame, bytes) = self.frames.remove(&number)?;
        self.bytes -= bytes;
        self.common.give_back(bytes);
        Some(frame)
    }
}

impl<T> Drop for Numbered<T> {
    fn drop(&mut self) {
        self.common.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_count_until_they_are_taken() {
        let mut frames = Numbered::new(Common::new(1000));
        let (one, other) = (frames.add("a", 5), frames.add("b", 3));
        assert_eq!((one, other, frames.bytes), (1, 2, 8));
        assert_eq!((frames.take(one), frames.take(one), frames.bytes), (Some("a"), None, 3));
        assert_eq!((frames.get(one), frames.get(other)), (None, Some(&"b")));
    }

    #[test]
    fn numbers_that_are_in_use_and_zero_are_passed_over() {
        let mut frames = Numbered::new(Common::new(1000));
        frames.add((), 0);
        frames.last = u32::MAX;
        assert_eq!(frames.add((), 0), 2);
    }
}
