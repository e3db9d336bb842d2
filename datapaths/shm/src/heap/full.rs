//! The lack of room.

use std::fmt;

/// A lack of room: a heap's quota is spent, no more memory is granted, or a value would be longer than values may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

impl Full {
    /// Panics, as the collections of the standard library do where memory is short.
    #[cold]
    #[track_caller]
    pub(super) fn panic(self) -> ! {
        panic!("{self}")
    }
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the heap has no room")
    }
}

impl std::error::Error for Full {}
