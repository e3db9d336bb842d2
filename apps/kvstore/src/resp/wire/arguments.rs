//! The arguments of a command.

use std::ops::Range;

/// The arguments of a command, its name first, where they arrived.
#[derive(Clone, Copy, Debug)]
pub struct CommandArguments<'a> {
    bytes: &'a [u8],
    places: &'a [Range<usize>],
}

impl<'a> CommandArguments<'a> {
    /// The parts of `bytes` at these places, all of which lie in it.
    pub(super) fn new(bytes: &'a [u8], places: &'a [Range<usize>]) -> Self {
        Self { bytes, places }
    }

    /// How many there are.
    #[allow(clippy::len_without_is_empty, reason = "a command has a name at least")]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// One of them.
    pub fn get(&self, index: usize) -> Option<&'a [u8]> {
        self.bytes.get(self.places.get(index)?.clone())
    }

    /// Those from `first` on.
    pub fn from(&self, first: usize) -> impl ExactSizeIterator<Item = &'a [u8]> + use<'a> {
        let bytes = self.bytes;
        let places = self.places.get(first..).unwrap_or_default();
        places.iter().map(move |place| bytes.get(place.clone()).unwrap_or_default())
    }
}
