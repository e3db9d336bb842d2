//! The lack of room.

use std::{fmt, io};

/// A lack of room: a heap's quota is spent, no more memory is granted, or a value would be longer than values may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

impl Full {
    /// Notes why a heap does not grow. The heap is not locked meanwhile, since a subscriber may use it.
    #[cold]
    pub(super) fn because(error: &io::Error) -> Self {
        tracing::debug!(%error, "a heap does not grow");
        Self
    }

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
